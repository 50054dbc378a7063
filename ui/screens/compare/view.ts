import { search, setSearch } from '../../router.ts'
import type { Compared, RowOrder } from '../../server/evaluations.ts'
import { filtersOf, parseFilter, type Term } from './filter-text.ts'

const sortOrders = ['diff', 'high', 'low', 'none'] as const
export type SortOrder = (typeof sortOrders)[number]

/** The state of a comparison, as the address has it. */
export interface CompareView {
  project: string
  /** The baseline first. */
  ids: readonly string[]
  base: string
  /** The run that is set against the baseline. */
  side: string | undefined
  sortOrder: SortOrder | undefined
  field: string | undefined
  filter: string
  terms: readonly Term[]
  /** The part of the filter that cannot be parsed. */
  wrong: string | undefined
  common: boolean
  row: string | undefined
  trial: number
}

export function viewOf(project: string): CompareView {
  const asked = search.value
  const given = [...new Set((asked.get('ids') ?? '').split(',').filter(Boolean))]
  const base = given.find((id) => id === asked.get('base')) ?? given[0] ?? ''
  const ids = [base, ...given.filter((id) => id !== base)].filter(Boolean)
  const [, sortOrder, field] = /^(\w+):(.+)$/.exec(asked.get('sort') ?? '') ?? []
  const filter = asked.get('q') ?? ''
  const { terms, wrong } = parseFilter(filter)
  return {
    project,
    ids,
    base,
    side: ids.slice(1).find((id) => id === asked.get('side')) ?? ids[1],
    sortOrder: sortOrders.find((one) => one === sortOrder),
    field,
    filter,
    terms,
    wrong,
    common: asked.get('common') === '1',
    row: asked.get('row') ?? undefined,
    trial: Math.max(0, (Number(asked.get('trial')) || 1) - 1),
  }
}

export const comparedIn = ({ project, ids, terms, common }: CompareView): Compared => ({
  project,
  ids,
  filters: filtersOf(terms),
  intersect: common,
})

/** Sorting by difference needs at least two runs. */
export const defaultOrder = ({ ids }: CompareView): SortOrder => (ids.length > 1 ? 'diff' : 'low')

export function orderOf(sortOrder: SortOrder, field: string | undefined): RowOrder | undefined {
  if (field === undefined || sortOrder === 'none') return undefined
  if (sortOrder === 'diff') return { field, mode: 'difference', direction: 'desc' }
  return { field, mode: 'value', direction: sortOrder === 'high' ? 'desc' : 'asc' }
}

export const setSort = (sortOrder: SortOrder, field: string): void =>
  setSearch({ sort: `${sortOrder}:${field}`, row: undefined, trial: undefined })

/** Runs are called A, B, C where their names are too long. */
export function letterOf(index: number): string {
  const letter = String.fromCharCode(65 + (index % 26))
  return index < 26 ? letter : `${letter}${Math.floor(index / 26) + 1}`
}
