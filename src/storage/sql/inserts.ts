import { Sql, type SqlValue } from './sql.ts'

interface InsertForm {
  most?: number
  /** The SQL that writes the values of these columns. */
  written?: { columns: readonly string[]; write: string }
}

/**
 * Statements that insert rows of these columns: `most` rows at a time, and the remainder in powers of two, so that few
 * statements are prepared. `tail` says what happens to rows that already exist.
 */
export function insertInto(
  table: string,
  columns: readonly string[],
  tail = '',
  { most = 16, written }: InsertForm = {},
) {
  const values = columns.map((column) => (written?.columns.includes(column) ? written.write : '?')).join(', ')
  const texts = new Map<number, string>()
  return function* (rows: readonly (readonly SqlValue[])[]): Generator<Sql> {
    let size = most
    for (let from = 0; from < rows.length; from += size) {
      while (size > rows.length - from) size /= 2
      let text = texts.get(size)
      if (text === undefined) {
        const row = `(${values})`
        text = `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${Array(size).fill(row).join(', ')} ${tail}`
        texts.set(size, text)
      }
      yield new Sql(text, rows.slice(from, from + size).flat())
    }
  }
}
