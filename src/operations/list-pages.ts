import { wrong } from '../domain/refusals.ts'

interface Identified {
  id: string
}

/** A page as OpenAI writes lists. */
export const listPage = <Shown>(rows: readonly Identified[], data: Shown[], has_more: boolean) => ({
  object: 'list' as const,
  data,
  first_id: rows[0]?.id ?? null,
  last_id: rows.at(-1)?.id ?? null,
  has_more,
})

/** One more than fits says whether there are more. */
export function pageOfList<Row extends Identified, Shown>(
  rows: readonly Row[],
  limit: number,
  show: (row: Row) => Shown,
) {
  const shown = rows.slice(0, limit)
  return listPage(shown, shown.map(show), rows.length > limit)
}

interface Wanted {
  after?: string | undefined
  limit: number
  order: 'asc' | 'desc'
}

/** A page of a list in memory, written in ascending order. `expected` says what `after` must be the id of. */
export function pageAfter<Row extends Identified, Shown>(
  rows: readonly Row[],
  { after, limit, order }: Wanted,
  { show, expected }: { show: (row: Row) => Shown; expected: string },
) {
  const ordered = order === 'asc' ? rows : rows.toReversed()
  const before = after === undefined ? -1 : ordered.findIndex(({ id }) => id === after)
  if (after !== undefined && before === -1) throw wrong('after', JSON.stringify(after), expected)
  return pageOfList(ordered.slice(before + 1), limit, show)
}
