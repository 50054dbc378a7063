/** Under this name a file says what an export says in its first line, and its kind. */
export const headKey = 'heddle.export'

/** What keeps a file from being read, for whoever gave it. */
export class ParquetError extends Error {
  override readonly name = 'ParquetError'
}
