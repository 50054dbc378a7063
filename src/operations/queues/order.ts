import { refuse } from '../../domain/refusals.ts'
import { type Sql, trusted } from '../../storage/sql/sql.ts'

export type SortBy = { field: string; direction: 'asc' | 'desc' }[] | null | undefined

/** Terms of ORDER BY. `last` decides between equals, so that pages fit together. */
export function orderOf(
  sortBy: SortBy,
  columns: ReadonlyMap<string, string>,
  otherwise: { term?: string; last: string },
): Sql[] {
  const terms = (sortBy ?? []).map(({ field, direction }, index) => {
    const column = columns.get(field)
    if (column !== undefined) return `${column} ${direction === 'asc' ? 'ASC' : 'DESC'}`
    const accepted = [...columns.keys()].join(', ')
    throw refuse('unknown_field', { field: `sort_by.${index}.field`, given: JSON.stringify(field), accepted })
  })
  if (terms.length === 0 && otherwise.term !== undefined) terms.push(otherwise.term)
  return [...terms, otherwise.last].map(trusted)
}
