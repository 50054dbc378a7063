import { refuse } from '../../domain/refusals.ts'
import type { SortBy } from '../../domain/view.ts'
import type { Dialect } from './dialect.ts'
import { boundReadings, type FieldReading, type FieldResolver, type Sort, type Sorting } from './readings.ts'
import { nothing, type Sql, sql, trusted } from './sql.ts'

/** A text sorts by so much of it: what is sorted is kept until the last row is known. */
const sortedCharacters = 1_024

/** Terms of ORDER BY: values that exist, numbers before text, and what is missing last in both directions. */
export function compileOrder(reading: FieldReading, direction: 'asc' | 'desc', dialect: Dialect): Sql[] {
  const plain = trusted(direction === 'asc' ? 'ASC' : 'DESC')
  if (reading.kind !== 'json' && reading.isAlways) return [sql`${reading.sql} ${plain}`]
  const way = sql`${plain} NULLS LAST`
  if (reading.kind !== 'json') return [sql`${reading.sql} ${way}`]
  const { exists, number, text } = dialect.json(reading.column, reading.path, reading.most)
  const start = sql`substr(${text}, 1, ${trusted(String(sortedCharacters))})`
  return [sql`${exists} DESC`, sql`${number} ${way}`, sql`${start} ${way}`]
}

export function compileSorting(sorts: readonly Sort[], dialect: Dialect): Sorting {
  const readings = sorts.map(({ reading }) => reading)
  boundReadings(readings, 'sort_by')
  const compile = (own: Dialect) =>
    sorts.flatMap(({ reading, direction }) => compileOrder(reading, direction, own))
  return readings.some(({ kind }) => kind === 'json')
    ? dialect.sorting(compile)
    : { order: compile(dialect), source: nothing }
}

/** The same of the fields of a table. What is equal by a field is equal by the same field once more. */
export function sortingOf(
  sort: readonly SortBy[],
  fieldsAt: (place: string) => FieldResolver,
  dialect: Dialect,
): Sorting {
  const sorts = new Map<string, Sort>()
  for (const [index, { field, direction }] of sort.entries()) {
    const reading = fieldsAt(`sort_by.${index}.field`)(field)
    if (!sorts.has(field)) sorts.set(field, { reading, direction })
  }
  return compileSorting([...sorts.values()], dialect)
}

/** Terms of ORDER BY by columns alone. `last` decides between equals, so that pages fit together. */
export function columnOrder(
  sort: readonly SortBy[],
  columns: Readonly<Record<string, string>>,
  unsorted: readonly string[],
  last: readonly string[],
): Sql[] {
  const terms = sort.map(({ field, direction }, index) => {
    if (Object.hasOwn(columns, field)) return `${columns[field]} ${direction === 'asc' ? 'ASC' : 'DESC'}`
    const accepted = Object.keys(columns).join(', ')
    throw refuse('unknown_field', { field: `sort_by.${index}.field`, given: JSON.stringify(field), accepted })
  })
  return [...(terms.length === 0 ? unsorted : terms), ...last].map(trusted)
}
