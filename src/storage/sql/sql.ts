/** A value that both engines bind. Booleans are 0 and 1, times are integer microseconds. */
export type SqlValue = string | number | bigint | Uint8Array | null

/**
 * A statement or a piece of one. Its text depends on the shape of the query alone, never on the values, so that the
 * drivers can prepare it once and find it again by its text.
 */
export class Sql {
  readonly text: string
  readonly values: readonly SqlValue[]

  constructor(text: string, values: readonly SqlValue[]) {
    this.text = text
    this.values = values
  }
}

/** Values become parameters; nested pieces become part of the text. `?` stands for a parameter in the text. */
export function sql(strings: TemplateStringsArray, ...parts: (SqlValue | Sql)[]): Sql {
  let text = strings[0] as string
  const values: SqlValue[] = []
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i] as SqlValue | Sql
    if (part instanceof Sql) {
      text += part.text
      for (const value of part.values) values.push(value)
    } else {
      text += '?'
      values.push(part)
    }
    text += strings[i + 1]
  }
  return new Sql(text, values)
}

export const nothing = new Sql('', [])

/** Text that becomes part of the statement as it stands: names and operators of our own, never input. */
export function trusted(text: string): Sql {
  return new Sql(text, [])
}

export function join(parts: readonly (SqlValue | Sql)[], separator: string): Sql {
  let text = ''
  const values: SqlValue[] = []
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i] as SqlValue | Sql
    if (i > 0) text += separator
    if (part instanceof Sql) {
      text += part.text
      for (const value of part.values) values.push(value)
    } else {
      text += '?'
      values.push(part)
    }
  }
  return new Sql(text, values)
}

/** All of them hold; true when there is none. */
export function allOf(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? trusted('1 = 1') : join(conditions, ' AND ')
}

/** The values of an IN list. */
export function listOf(values: readonly (string | number)[]): Sql {
  return values.length === 0 ? trusted('NULL') : join(padded(values), ', ')
}

/**
 * What a pair of columns is compared with by IN: each pair by itself, where two lists would stand for every pair of the one
 * with the other. There has to be one.
 */
export function pairsOf(pairs: readonly (readonly [string, string])[]): Sql {
  const rows = padded(pairs).map(([one, other]) => sql`(${one}, ${other})`)
  return sql`(VALUES ${join(rows, ', ')})`
}

/** The length is rounded up by repeating the last one, so that few texts are prepared. */
function padded<T>(values: readonly T[]): T[] {
  const all = [...values]
  const last = values.at(-1) as T
  for (let size = 1; size < values.length * 2; size *= 2) while (all.length < size) all.push(last)
  return all
}

/**
 * The same values as a table `wanted (id)`, to be joined first: next to a long IN list SQLite believes that reading all of a
 * project is less work.
 */
export function wantedOf(values: readonly string[]): Sql {
  let size = 1
  while (size < values.length) size *= 2
  const padded: SqlValue[] = [...values]
  while (padded.length < size) padded.push(null)
  return new Sql(`WITH wanted (id) AS (VALUES (?)${', (?)'.repeat(size - 1)})`, padded)
}

/** The same for pairs: a table `wanted (one, other)`. */
export function wantedPairs(pairs: readonly (readonly [string, string])[]): Sql {
  let size = 1
  while (size < pairs.length) size *= 2
  const padded: SqlValue[] = pairs.flat()
  while (padded.length < 2 * size) padded.push(null)
  return new Sql(`WITH wanted (one, other) AS (VALUES (?, ?)${', (?, ?)'.repeat(size - 1)})`, padded)
}
