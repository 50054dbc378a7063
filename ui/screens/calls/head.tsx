import { setSearch } from '../../routes.ts'
import { newestFirst, type Sort } from '../../server/calls.ts'
import { type ColumnName, columns, columnsText } from './columns.ts'

interface Props {
  shown: readonly (typeof columns)[number][]
  sort: Sort
}

/** Names the columns; a click on one of them sorts by it. */
export function GridHead({ shown, sort }: Props) {
  return (
    <div class="grid-head" role="row" aria-rowindex={1}>
      <div role="columnheader" class="cell-choose">
        <span class="hidden-text">Chosen</span>
      </div>
      <div role="columnheader" class="cell-status">
        <span class="hidden-text">Status</span>
      </div>
      <div role="columnheader" class="cell-what">
        Call
      </div>
      {shown.map((column) => {
        const field = 'sort' in column ? column.sort : undefined
        const isSorted = field === sort.field
        return (
          <div
            key={column.name}
            role="columnheader"
            class={`cell-${column.name}`}
            aria-sort={isSorted ? (sort.direction === 'asc' ? 'ascending' : 'descending') : undefined}
          >
            {field === undefined ? (
              column.label
            ) : (
              <button
                type="button"
                class="quiet"
                tabIndex={-1}
                onClick={() => setSearch({ sort: next(field, sort) })}
              >
                {column.label}
                {isSorted && <span aria-hidden="true">{sort.direction === 'asc' ? '↑' : '↓'}</span>}
              </button>
            )}
          </div>
        )
      })}
    </div>
  )
}

/** First the largest, then the smallest, then as usual. */
function next(field: string, { field: by, direction }: Sort): string | undefined {
  if (field !== by) return `${field}.desc`
  if (direction === 'desc') return `${field}.asc`
  return field === newestFirst.field ? undefined : ''
}

/** As the address has it. */
export function sortIn(text: string | null): Sort {
  const found = /^(.+)\.(asc|desc)$/.exec(text ?? '')
  const isKnown = columns.some((column) => 'sort' in column && column.sort === found?.[1])
  return found && isKnown ? { field: found[1] as string, direction: found[2] as 'asc' } : newestFirst
}

/** Which columns are shown, in which order. */
export function ColumnChooser({ shown }: Pick<Props, 'shown'>) {
  const names: readonly ColumnName[] = shown.map(({ name }) => name)
  const others = columns.filter(({ name }) => !names.includes(name))
  const choose = (chosen: readonly ColumnName[]) => setSearch({ cols: columnsText(chosen) })
  return (
    <details class="chooser">
      <summary class="button">Columns</summary>
      <ul>
        {[...shown, ...others].map(({ name, label }) => {
          const at = names.indexOf(name)
          return (
            <li key={name}>
              <label class="check">
                <input
                  type="checkbox"
                  checked={at !== -1}
                  onChange={() => choose(at === -1 ? [...names, name] : names.filter((one) => one !== name))}
                />
                {label}
              </label>
              <button
                type="button"
                class="quiet"
                aria-label={`${label} further left`}
                disabled={at < 1}
                onClick={() => choose(names.toSpliced(at - 1, 2, name, names[at - 1] as ColumnName))}
              >
                ↑
              </button>
            </li>
          )
        })}
      </ul>
    </details>
  )
}
