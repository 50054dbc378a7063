/** A value that both engines bind. Booleans are 0 and 1, times are integer microseconds. */
export type SqlValue = string | number | bigint | Uint8Array | null

/**
 * A statement or a fragment of one. Its text depends only on the shape of the query, never on the values, so that
 * drivers can prepare it once and reuse it by its text.
 */
export class Sql {
  readonly text: string
  readonly values: readonly SqlValue[]

  constructor(text: string, values: readonly SqlValue[]) {
    this.text = text
    this.values = values
  }
}

/** Values become parameters; nested fragments become part of the text. `?` stands for a parameter in the text. */
export function sql(strings: TemplateStringsArray, ...terms: (SqlValue | Sql)[]): Sql {
  const values: SqlValue[] = []
  let text = strings[0] as string
  for (let i = 0; i < terms.length; i++) text += add(terms[i] as SqlValue | Sql, values) + strings[i + 1]
  return new Sql(text, values)
}

export const emptySql = new Sql('', [])

/** Text that becomes part of the statement as it is: our own names and operators, never input. */
export function rawSql(text: string): Sql {
  return new Sql(text, [])
}

export function join(terms: readonly (SqlValue | Sql)[], separator: string): Sql {
  const values: SqlValue[] = []
  let text = ''
  for (let i = 0; i < terms.length; i++) {
    text += (i > 0 ? separator : '') + add(terms[i] as SqlValue | Sql, values)
  }
  return new Sql(text, values)
}

/** Returns the text of an term and appends its values to `values`. */
function add(term: SqlValue | Sql, values: SqlValue[]): string {
  if (term instanceof Sql) {
    for (const value of term.values) values.push(value)
    return term.text
  }
  values.push(term)
  return '?'
}

/** All must hold; true if there are none. */
export function allOf(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? rawSql('1 = 1') : join(conditions, ' AND ')
}

/** Joined as a balanced tree, because SQLite limits the depth of expressions and a chain is as deep as it is long. */
export function joined(conditions: readonly Sql[], operator: ' AND ' | ' OR '): Sql {
  const [only] = conditions
  if (only !== undefined && conditions.length === 1) return only
  const middle = Math.ceil(conditions.length / 2)
  const halves = [conditions.slice(0, middle), conditions.slice(middle)]
  return sql`(${join(
    halves.map((half) => joined(half, operator)),
    operator,
  )})`
}

/** The values of an IN list. */
export function listOf(values: readonly (string | number)[]): Sql {
  return values.length === 0 ? rawSql('NULL') : join(padToPowerOfTwo(values), ', ')
}

/**
 * The right side of an IN that compares pairs of columns. Two lists would match every combination instead. Must not be
 * empty.
 */
export function pairsOf(pairs: readonly (readonly [string, string])[]): Sql {
  const rows = padToPowerOfTwo(pairs).map(([first, other]) => sql`(${first}, ${other})`)
  return sql`(VALUES ${join(rows, ', ')})`
}

/** The length is rounded up to a power of two by repeating the last value, so that few statements are prepared. */
export function padToPowerOfTwo<T>(values: readonly T[], filler = values.at(-1) as T): T[] {
  const all = [...values]
  while (all.length & (all.length - 1)) all.push(filler)
  return all
}

/**
 * The same values as a table `wanted (id)`, to be joined first: with a long IN list SQLite estimates that reading the
 * whole project is cheaper.
 */
export function wantedIds(values: readonly string[]): Sql {
  const all = padToPowerOfTwo<string | null>(values.length === 0 ? [null] : values, null)
  return new Sql(`WITH wanted (id) AS (VALUES (?)${', (?)'.repeat(all.length - 1)})`, all)
}

/** The same for pairs: a table `wanted (evaluation, row_digest)`. Must not be empty. */
export function wantedPairs(pairs: readonly (readonly [string, string])[]): Sql {
  const all = padToPowerOfTwo<readonly (string | null)[]>(pairs, [null, null])
  return new Sql(
    `WITH wanted (evaluation, row_digest) AS (VALUES (?, ?)${', (?, ?)'.repeat(all.length - 1)})`,
    all.flat(),
  )
}
