import { Sql, type SqlValue } from './sql.ts'

interface InsertForm {
  most?: number
  /** How the values of these columns are written. */
  written?: { columns: readonly string[]; write: string }
}

/**
 * Statements that write rows of these columns, `most` rows at a time and what is left in powers of two, so that few are
 * prepared. `tail` says what happens to rows that are there already.
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
