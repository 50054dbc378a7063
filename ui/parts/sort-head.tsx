import { setSearch } from '../router.ts'
import type { Sort } from '../server/calls.ts'

interface Props {
  label: string
  /** Absent where the server does not sort by the column. */
  field: string | undefined
  sort: Sort
  class?: string | undefined
  title?: string | undefined
  /** What the address has in place of no order, where that would be another one. */
  noOrder?: string | undefined
  /** What else the address has where this is the order. */
  beside?: Record<string, string> | undefined
}

/** The head of a column of a grid. It sorts by the column: first the largest, then the smallest, then the usual order. */
export function SortHead({ label, field, sort, class: name, title, noOrder, beside }: Props) {
  const isSorted = field === sort.field
  const isUp = sort.direction === 'asc'
  return (
    <div
      role="columnheader"
      class={name}
      title={title}
      aria-sort={isSorted ? (isUp ? 'ascending' : 'descending') : undefined}
    >
      {field === undefined ? (
        label
      ) : (
        <button
          type="button"
          class="quiet"
          data-file={() => label}
          onClick={() => setSearch({ sort: next(field, sort) ?? noOrder, ...beside })}
        >
          {label}
          {isSorted && <span aria-hidden="true">{isUp ? '↑' : '↓'}</span>}
        </button>
      )}
    </div>
  )
}

function next(field: string, sort: Sort): string | undefined {
  if (field !== sort.field) return `${field}.desc`
  return sort.direction === 'desc' ? `${field}.asc` : undefined
}
