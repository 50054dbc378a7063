import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ChangeDialog, type RowChange } from '../../datasets/change-dialog.tsx'
import { DownloadRows } from '../../datasets/download.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useListPosition, useScrollRestoration } from '../../parts/list-position.ts'
import { MoreActs } from '../../parts/more-acts.tsx'
import { createPagedList } from '../../parts/paged-list.ts'
import { listKeys, useShortcuts } from '../../parts/shortcuts.ts'
import { Failed, Skeleton } from '../../parts/states.tsx'
import { movedTo, VirtualList } from '../../parts/virtual-list.tsx'
import { search, setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import { useLoading } from '../../server/loading.ts'
import type { ObjectVersion } from '../../server/objects.ts'
import { may } from '../../server/rights.ts'
import { countRows, readRows, type TableRow } from '../../server/tables.ts'
import { membersOf, nodeAt } from '../../value/json-index.ts'
import { JsonTree } from '../../value/json-tree.tsx'
import { lineOfValue } from '../../value/messages.ts'
import { countText } from '../../value/units.ts'

/** As in style/objects.css. */
const rowHeight = 2

/** Columns in the table; the row view shows all of them. */
const mostColumns = 40

interface Props {
  project: string
  table: string
  dataset: ObjectVersion
  description: string | undefined
  /** Called after a newer version was written; absent where nothing can be changed. */
  onChanged: (() => void) | undefined
}

/** A table, with the columns of the rows that were read so far. */
export function Rows({ project, table, dataset, description, onChanged }: Props) {
  const {
    value: count,
    error: failure,
    reload,
  } = useLoading((signal) => countRows(project, table, signal), [project, table])
  const [sort, setSort] = useState<{ field: string; direction: 'asc' | 'desc' }>()
  const list = useMemo(
    () => createPagedList((page, signal) => readRows({ project, table, sort }, page, signal)),
    [project, table, sort],
  )
  useEffect(() => () => list.close(), [list])
  const scroller = useRef<HTMLDivElement>(null)
  const asked = search.value.get('row')
  const opened = asked !== null && /^\d{1,9}$/.test(asked) ? Number(asked) : undefined
  const kept = useListPosition(table)
  const [active, setActive] = useState(kept.left?.active ?? opened ?? -1)
  const [scrollRequest, setScrollRequest] = useState(0)
  const keepPlace = useScrollRestoration(kept, { scroller, isLoaded: count !== undefined, active })
  const [changing, setChanging] = useState<RowChange>()
  const canChange = onChanged !== undefined && may('write', project)
  const found = list.rows.value
  const columns = useMemo(() => columnsOf(found.values()), [found])
  const move = (by: number) => {
    const next = Math.min((count ?? 1) - 1, Math.max(0, active + by))
    setActive(next)
    setScrollRequest(scrollRequest + 1)
    if (opened !== undefined) setSearch({ row: String(next) })
  }
  useShortcuts('Rows', [
    ...listKeys('row', move),
    {
      keys: ['Enter', 'p', ' '],
      does: 'Show or hide the whole row',
      run: () => setSearch({ row: opened === undefined && active >= 0 ? String(active) : undefined }),
    },
  ])
  const row = opened === undefined ? undefined : found.get(opened)
  useShortcuts(
    'Row',
    canChange && row
      ? [{ keys: ['e'], does: 'Change the row', run: () => setChanging({ what: 'edit', row }) }]
      : [],
  )
  const error = failure ?? list.error.value
  if (error) return <Failed error={error} retry={reload} />
  if (count === undefined) return <Skeleton rows={12} />
  const sortBy = (field: string) => {
    const next = sort?.field !== field ? 'asc' : sort.direction === 'asc' ? 'desc' : undefined
    setSort(next && { field, direction: next })
    setActive(-1)
  }
  return (
    <div class="rows-body">
      <div class="rows-count muted">
        {countText(count)} {count === 1 ? 'row' : 'rows'}{' '}
        <span data-file={null}>
          {onChanged && may('infer', project) && (
            <a class="button" href={paths.newRun(project, { dataset: dataset.object_id })}>
              New run
            </a>
          )}
          {canChange && (
            <button type="button" onClick={() => setChanging({ what: 'add', columns, like: found.get(0) })}>
              Add row
            </button>
          )}
          <MoreActs>
            <DownloadRows {...{ project, table }} name={dataset.object_id} />
            {canChange && (
              <button type="button" onClick={() => setChanging({ what: 'describe' })}>
                Description
              </button>
            )}
          </MoreActs>
        </span>
        {description !== undefined && description !== '' && <span dir="auto">{description}</span>}
      </div>
      <div
        class="grid rows-grid"
        role="grid"
        aria-label="Rows"
        aria-rowcount={count + 1}
        tabIndex={0}
        onScroll={() => keepPlace()}
        ref={(element) => {
          scroller.current = element
          element?.style.setProperty('--column-count', String(Math.max(1, columns.length)))
        }}
      >
        <div class="grid-head" role="row" aria-rowindex={1}>
          <div role="columnheader" class="row-nr">
            No.
          </div>
          {columns.map((name) => (
            <div
              key={name}
              role="columnheader"
              aria-sort={
                sort?.field !== name ? 'none' : sort.direction === 'asc' ? 'ascending' : 'descending'
              }
            >
              {/^[\w-]+$/.test(name) ? (
                <button type="button" class="quiet" tabIndex={-1} onClick={() => sortBy(name)}>
                  {name}
                  {sort?.field === name && (sort.direction === 'asc' ? ' ↑' : ' ↓')}
                </button>
              ) : (
                name
              )}
            </div>
          ))}
        </div>
        <VirtualList
          key={sort ? `${sort.field} ${sort.direction}` : ''}
          scroller={scroller}
          count={count}
          height={rowHeight}
          active={active}
          scrollRequest={scrollRequest}
          onRange={list.see}
          row={(index, top) => (
            <RowLine
              key={index}
              {...{ index, top, columns, row: found.get(index) }}
              isActive={index === active}
              onChoose={() => {
                setActive(index)
                setSearch({ row: String(index) })
              }}
            />
          )}
        />
      </div>
      {row && (
        <aside class="row-whole" aria-label="Row details">
          <button
            type="button"
            class="icon-button peek-close"
            aria-label="Close"
            onClick={() => setSearch({ row: undefined })}
          >
            <Icon name="close" />
          </button>
          <h2>Row {countText(row.index + 1)}</h2>
          {canChange && (
            <div class="row-acts">
              <button
                type="button"
                title="Change the row (e)"
                onClick={() => setChanging({ what: 'edit', row })}
              >
                Edit
              </button>
              <button type="button" onClick={() => setChanging({ what: 'delete', row })}>
                Delete
              </button>
            </div>
          )}
          <JsonTree node={row.val} />
          <code class="muted">{row.digest}</code>
        </aside>
      )}
      {changing && canChange && (
        <ChangeDialog
          {...{ project, dataset, description, onChanged, change: changing }}
          onClose={() => setChanging(undefined)}
        />
      )}
    </div>
  )
}

interface LineProps {
  index: number
  top: number
  columns: readonly string[]
  row: TableRow | undefined
  isActive: boolean
  onChoose(): void
}

function RowLine({ index, top, columns, row, isActive, onChoose }: LineProps) {
  return (
    <div
      class={`grid-row ${isActive ? 'is-active' : ''}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isActive}
      ref={movedTo(top)}
      onClick={onChoose}
    >
      <div role="gridcell" class="row-nr">
        {row === undefined ? '' : countText(row.index + 1)}
      </div>
      {columns.map((name) => {
        const node = row && nodeAt(row.val, name)
        return (
          <div key={name} role="gridcell" class={node?.kind === 'number' ? 'is-number' : ''}>
            {lineOfValue(node)}
          </div>
        )
      })}
    </div>
  )
}

function columnsOf(rows: Iterable<TableRow>): string[] {
  const names = new Set<string>()
  for (const { val } of rows) {
    for (const { name } of membersOf(val)) {
      if (names.size < mostColumns) names.add(name)
    }
  }
  return [...names]
}
