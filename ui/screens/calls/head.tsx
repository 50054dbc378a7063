import { useState } from 'preact/hooks'
import { SortHead } from '../../parts/sort-head.tsx'
import { setSearch } from '../../router.ts'
import { newestFirst, type Sort } from '../../server/calls.ts'
import { useLoading } from '../../server/loading.ts'
import { type CallsScope, readColumns } from '../../server/views.ts'
import { countText } from '../../value/units.ts'
import { type Column, columns, columnsText, isPath, mostPaths, pathColumn } from './columns.ts'

interface Props {
  shown: readonly Column[]
  sort: Sort
}

interface HeadProps extends Props {
  isAllSelected: boolean
  onSelectAll(isSelected: boolean): void
}

const isSummed = (name: string) => name === 'tokens' || name === 'cost'

/** The names of the columns; a click on one sorts by it. */
export function GridHead({ shown, sort, isAllSelected, onSelectAll }: HeadProps) {
  return (
    <div class="grid-head" role="row" aria-rowindex={1}>
      <div role="columnheader" class="cell-choose">
        <span class="hidden-text">Selected</span>
        <input
          type="checkbox"
          data-file={null}
          tabIndex={-1}
          aria-label="Select all calls of this filter"
          checked={isAllSelected}
          onChange={({ currentTarget }) => onSelectAll(currentTarget.checked)}
        />
      </div>
      <div role="columnheader" class="cell-status">
        <span class="hidden-text">Status</span>
      </div>
      <div role="columnheader" class="cell-what">
        Call
      </div>
      {shown.map(({ name, label, path, sort: field }) => (
        <SortHead
          key={name}
          {...{ label, field, sort }}
          title={path ?? (isSummed(name) ? 'Of the call; with Σ of its whole trace' : undefined)}
          class={path === undefined ? `cell-${name}` : 'cell-value'}
          noOrder={field === newestFirst.field ? undefined : ''}
          // What a trace costs is recorded at the calls inside it, and its root is often a program's own function.
          beside={field === 'cost' || field === 'output_tokens' ? { all: '1' } : undefined}
        />
      ))}
    </div>
  )
}

/** As the address has it. */
export function sortIn(text: string | null): Sort {
  const found = /^(.+)\.(asc|desc)$/.exec(text ?? '')
  const [, field = ''] = found ?? []
  const isKnown = isPath(field) || columns.some((column) => 'sort' in column && column.sort === field)
  return found && isKnown ? { field: found[1] as string, direction: found[2] as 'asc' } : newestFirst
}

/** Chooses the columns and their order; values inside calls are looked up when it opens. */
export function ColumnChooser({ shown, meant }: Pick<Props, 'shown'> & { meant: CallsScope }) {
  const [isOpen, setOpen] = useState(false)
  const found = useLoading(
    async (signal) => (isOpen ? readColumns(meant, signal) : undefined),
    [isOpen, meant],
  )
  const names = shown.map(({ name }) => name)
  const others: readonly Column[] = columns.filter(({ name }) => !names.includes(name))
  const choose = (chosen: readonly string[]) => setSearch({ cols: columnsText(chosen) })
  const isFull = shown.filter(({ path }) => path !== undefined).length >= mostPaths
  // A comma separates two names in the address.
  const values = found.value?.columns.filter(
    ({ field }) => isPath(field) && !field.includes(',') && !names.includes(field),
  )
  return (
    <details class="chooser" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary class="button">Columns</summary>
      <div class="chooser-list">
        <ul>
          {[...shown, ...others].map(({ name, label }) => {
            const at = names.indexOf(name)
            const before = names[at - 1] ?? name
            return (
              <li key={name}>
                <label class="check">
                  <input
                    type="checkbox"
                    checked={at !== -1}
                    onChange={() =>
                      choose(at === -1 ? [...names, name] : names.filter((one) => one !== name))
                    }
                  />
                  {label}
                </label>
                <button
                  type="button"
                  class="quiet"
                  aria-label={`Move ${label} left`}
                  disabled={at < 1}
                  onClick={() => choose(names.toSpliced(at - 1, 2, name, before))}
                >
                  ↑
                </button>
              </li>
            )
          })}
        </ul>
        {found.error && <p class="problem">{found.error.message}</p>}
        {found.value !== undefined && (
          <p class="muted">
            {values?.length === 0 ? 'No other values' : 'Values'} in the newest{' '}
            {countText(found.value.sampled)} calls
            {found.value.others > 0 && `; ${countText(found.value.others)} rarer ones are not listed`}
          </p>
        )}
        <ul>
          {values?.map(({ field, count }) => (
            <li key={field}>
              <label class="check" title={field}>
                <input
                  type="checkbox"
                  checked={false}
                  disabled={isFull}
                  onChange={() => choose([...names, pathColumn(field).name])}
                />
                <span class="chooser-path">{field}</span>
              </label>
              <span class="muted">{countText(count)}</span>
            </li>
          ))}
        </ul>
      </div>
    </details>
  )
}
