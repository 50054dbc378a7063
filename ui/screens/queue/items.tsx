import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { serverUrl } from '../../base.ts'
import { contents, live } from '../../export/contents.ts'
import { useListPosition, useScrollRestoration } from '../../parts/list-position.ts'
import { createPagedList } from '../../parts/paged-list.ts'
import { listKeys, type Shortcut, useShortcuts } from '../../parts/shortcuts.ts'
import { Empty, Failed } from '../../parts/states.tsx'
import { VirtualList } from '../../parts/virtual-list.tsx'
import { navigate, search, setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import { countOfState, type ItemState, type QueueStats } from '../../server/queues.ts'
import { inQuotedJson } from '../../value/shell.ts'
import { countText } from '../../value/units.ts'
import { ItemLine, itemHeight, pathOfItem, stateNames } from './item-line.tsx'
import { readItemsWithPreviews } from './item-previews.ts'

interface Props {
  project: string
  queue: string
  stats: QueueStats
  isReviewer: boolean
}

type Shown = ItemState | 'disagreed'

const names: Record<Shown, string> = { ...stateNames, disagreed: 'Disagreed' }
const states = Object.keys(names) as Shown[]

/** As the address has it; undefined means all. */
export const stateIn = (asked: URLSearchParams): Shown | undefined =>
  states.find((one) => one === asked.get('state'))

/** The items of the queue, in its order. */
export function Items({ project, queue, stats, isReviewer }: Props) {
  const state = stateIn(search.value)
  const countOf = (shown: Shown | undefined) => countOfState(stats, shown)
  const count = contents?.rows ?? countOf(state)
  const offered = states.filter((shown) => shown !== 'disagreed' || shown === state || countOf(shown) > 0)
  const list = useMemo(
    () => createPagedList((page, signal) => readItemsWithPreviews({ project, queue, state }, page, signal)),
    [project, queue, state, stats],
  )
  useEffect(() => () => list.close(), [list])
  const scroller = useRef<HTMLDivElement>(null)
  const kept = useListPosition(`${queue} ${state}`)
  const [active, setActive] = useState(-1)
  const [scrollRequest, setScrollRequest] = useState(0)
  useLayoutEffect(() => setActive(kept.left?.active ?? -1), [state])
  const keepPlace = useScrollRestoration(kept, { scroller, isLoaded: count > 0 && list, active })
  const current = list.rows.value.get(active)
  const move = (by: number) => {
    setActive(Math.min(count - 1, Math.max(0, active + by)))
    setScrollRequest(scrollRequest + 1)
  }
  const toTrace: Shortcut = {
    keys: ['t'],
    does: 'Open trace',
    run: () => current && navigate(paths.trace(project, current.call_trace_id, current.call_id)),
  }
  const reading: Shortcut[] = [
    ...listKeys('item', move),
    {
      keys: ['Enter', 'o'],
      does: 'Open this item',
      run: () => current && navigate(pathOfItem(project, isReviewer ? queue : undefined, current)),
    },
  ]
  useShortcuts('Items', reading, [toTrace])
  const error = list.error.value
  return (
    <>
      <div class="choices" role="group" aria-label="State">
        {(live([undefined, ...offered]) ?? [state]).map((one) => (
          <button
            key={one ?? 'all'}
            type="button"
            class="chip"
            aria-pressed={one === state}
            onClick={() => setSearch({ state: one })}
          >
            {one === undefined ? 'All' : names[one]} <span class="muted">{countText(countOf(one))}</span>
          </button>
        ))}
      </div>
      {error && <Failed error={error} retry={() => list.see(0, 0)} />}
      {!error && count === 0 && (
        <div class="in-place">
          {state === undefined ? (
            <Empty title="No calls in this queue yet" command={firstItems(project, queue)}>
              <p>
                Press <kbd>a</kbd> in the list of calls or in an open call, create a rule that adds calls as
                they end, or send their IDs.
              </p>
            </Empty>
          ) : (
            <Empty title="No items in this state">
              <button type="button" onClick={() => setSearch({ state: undefined })}>
                All items
              </button>
            </Empty>
          )}
        </div>
      )}
      {!error && count > 0 && (
        <div
          class="grid items-grid"
          role="grid"
          aria-label="Items"
          aria-rowcount={count + 1}
          tabIndex={0}
          ref={scroller}
          onScroll={() => keepPlace()}
        >
          <div class="grid-head" role="row" aria-rowindex={1}>
            {['Nr', 'State', 'Call', 'Reviewer', 'Since', 'Started'].map((label) => (
              <div key={label} role="columnheader" class={`item-${label.toLowerCase()}`}>
                {label === 'Nr' ? 'No.' : label}
              </div>
            ))}
          </div>
          <VirtualList
            scroller={scroller}
            count={count}
            height={itemHeight}
            active={active}
            scrollRequest={scrollRequest}
            onRange={list.see}
            row={(index, top) => (
              <ItemLine
                key={index}
                {...{ index, top, project, item: list.rows.value.get(index) }}
                queue={isReviewer ? queue : undefined}
                isActive={index === active}
                onChoose={() => setActive(index)}
                onLeave={() => keepPlace(index)}
              />
            )}
          />
        </div>
      )}
    </>
  )
}

const firstItems = (project: string, queue: string) =>
  `api() { curl -s -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' "${serverUrl()}$1" -d "$2"; }
# the newest call of the project
CALL=$(api /views/calls '{"project_id": "${inQuotedJson(project)}", "limit": 1}' | sed 's/.*"calls":\\[{"id":"\\([^"]*\\)".*/\\1/')
api /annotation_queues/${queue}/items '{"project_id": "${inQuotedJson(project)}", "call_ids": ["'$CALL'"]}'`
