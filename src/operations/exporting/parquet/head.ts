/** The key under which a file has the first line of the export and its kind. */
export const headKey = 'heddle.export'

/** Tells the user why a file cannot be read. */
export class ParquetError extends Error {
  override readonly name = 'ParquetError'
}
