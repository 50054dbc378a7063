import { refuse } from '../../domain/refusals.ts'
import type { SortBy } from '../../domain/view.ts'
import type { Dialect } from './dialect.ts'
import { boundReadings, type FieldReading, type FieldResolver, type Sort, type Sorting } from './readings.ts'
import { emptySql, rawSql, type Sql, sql } from './sql.ts'

/** Only this many characters of a text are sorted by, because sort keys are in memory until the last row is read. */
const sortedCharacters = 1_024

/** Terms of ORDER BY: existing values, numbers before text, and missing values last in both directions. */
export function compileOrder(reading: FieldReading, direction: 'asc' | 'desc', dialect: Dialect): Sql[] {
  const plain = rawSql(direction === 'asc' ? 'ASC' : 'DESC')
  if (reading.kind !== 'json' && reading.isAlways) return [sql`${reading.sql} ${plain}`]
  const way = sql`${plain} NULLS LAST`
  if (reading.kind !== 'json') return [sql`${reading.sql} ${way}`]
  const { exists, number, text } = dialect.json(reading.column, reading.path, reading.most)
  const start = sql`substr(${text}, 1, ${rawSql(String(sortedCharacters))})`
  return [sql`${exists} DESC`, sql`${number} ${way}`, sql`${start} ${way}`]
}

export function compileSorting(sorts: readonly Sort[], dialect: Dialect): Sorting {
  const readings = sorts.map(({ reading }) => reading)
  boundReadings(readings, 'sort_by')
  const compile = (own: Dialect) =>
    sorts.flatMap(({ reading, direction }) => compileOrder(reading, direction, own))
  return readings.some(({ kind }) => kind === 'json')
    ? dialect.sorting(compile)
    : { order: compile(dialect), source: emptySql }
}

/** The same for the fields of a table. A field that is repeated adds nothing to the order. */
export function sortingOf(
  sort: readonly SortBy[],
  fieldsAt: (path: string) => FieldResolver,
  dialect: Dialect,
): Sorting {
  const sorts = new Map<string, Sort>()
  for (const [index, { field, direction }] of sort.entries()) {
    const reading = fieldsAt(`sort_by.${index}.field`)(field)
    if (!sorts.has(field)) sorts.set(field, { reading, direction })
  }
  return compileSorting([...sorts.values()], dialect)
}

/** Terms of ORDER BY for plain columns. `last` breaks ties, so that pages neither overlap nor skip. */
export function columnOrder(
  sort: readonly SortBy[],
  columns: Readonly<Record<string, string>>,
  unsorted: readonly string[],
  last: readonly string[],
): Sql[] {
  const terms = sort.map(({ field, direction }, index) => {
    if (Object.hasOwn(columns, field)) return `${columns[field]} ${direction === 'asc' ? 'ASC' : 'DESC'}`
    const [accepted, received] = [Object.keys(columns).join(', '), JSON.stringify(field)]
    throw refuse('unknown_field', { field: `sort_by.${index}.field`, received, accepted })
  })
  return [...(terms.length === 0 ? unsorted : terms), ...last].map(rawSql)
}
