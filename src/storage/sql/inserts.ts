import { Sql, type SqlValue } from './sql.ts'

/** Writes rows of these columns with one statement. `tail` says what happens to rows that are there already. */
export function insertInto(table: string, columns: readonly string[], tail = '') {
  const texts = new Map<number, string>()
  return (rows: readonly (readonly SqlValue[])[]): Sql => {
    let text = texts.get(rows.length)
    if (text === undefined) {
      const row = `(${columns.map(() => '?').join(', ')})`
      text = `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${Array(rows.length).fill(row).join(', ')} ${tail}`
      texts.set(rows.length, text)
    }
    return new Sql(text, rows.flat())
  }
}

/** Rows in groups of `size` and what is left one by one: two sizes, so that two statements are prepared. */
export function* groupsOf<T>(rows: readonly T[], size: number): Generator<T[]> {
  for (let from = 0; from < rows.length; ) {
    const group = rows.slice(from, from + (rows.length - from >= size ? size : 1))
    yield group
    from += group.length
  }
}
