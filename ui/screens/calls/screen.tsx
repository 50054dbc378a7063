import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { CallDetail } from '../../call/detail.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { Empty, Failed } from '../../parts/states.tsx'
import { VirtualRows } from '../../parts/virtual-rows.tsx'
import { paths } from '../../places.ts'
import { go, search, setSearch } from '../../routes.ts'
import type { CallStatus } from '../../server/calls.ts'
import { countText } from '../../value/units.ts'
import { FilterBar } from './filter-bar.tsx'
import { CallLine, columns, rowHeight } from './line.tsx'
import { createRows } from './rows.ts'

/** How often newer calls are looked for, while the page can be seen. */
const lookEveryMs = 3_000

/** All calls of a project, newest first, and the one that is looked at beside them. */
export function CallsScreen({ project }: { project: string }) {
  const asked = search.value
  const roots = asked.get('all') !== '1'
  const [op, status, text] = [asked.get('op'), asked.get('status'), asked.get('text')]
  const peek = asked.get('peek') ?? undefined
  const list = useMemo(
    () =>
      createRows({
        project,
        roots,
        op: op ?? undefined,
        status: (status as CallStatus) ?? undefined,
        text: text ?? undefined,
      }),
    [project, roots, op, status, text],
  )
  useEffect(() => () => list.close(), [list])
  const scroller = useRef<HTMLDivElement>(null)
  const isAtTop = () => (scroller.current?.scrollTop ?? 0) < rowHeight
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void list.look(isAtTop())
    }, lookEveryMs)
    return () => clearInterval(timer)
  }, [list])

  const [active, setActive] = useState(-1)
  useEffect(() => setActive(-1), [list])
  const count = list.count.value
  const move = (by: number) => {
    if (!count) return
    const next = Math.min(count - 1, Math.max(0, active + by))
    setActive(next)
    const row = list.rows.value.get(next)
    if (peek !== undefined && row) setSearch({ peek: row.id })
  }
  const current = list.rows.value.get(active)
  useKeys('Calls', [
    { keys: ['j', 'ArrowDown'], does: 'Next call', run: () => move(1) },
    { keys: ['k', 'ArrowUp'], does: 'Previous call', run: () => move(-1) },
    { keys: ['g g', 'Home'], does: 'First call', run: () => move(-Infinity) },
    { keys: ['G', 'End'], does: 'Last call', run: () => move(Infinity) },
    { keys: ['p', ' '], does: 'Look at it beside the list', run: () => setSearch({ peek: current?.id }) },
    {
      keys: ['Enter', 'o'],
      does: 'Open its trace',
      run: () => current && go(paths.trace(project, current.trace_id, current.id)),
    },
    { keys: ['r'], does: 'Roots only, or all calls', run: () => setSearch({ all: roots ? '1' : undefined }) },
    { keys: ['Escape'], does: 'Close what is beside the list', run: () => setSearch({ peek: undefined }) },
  ])

  const isFiltered = op !== null || status !== null || text !== null
  const error = list.error.value
  return (
    <main class={`screen calls ${peek ? 'has-peek' : ''}`}>
      <h1 class="hidden-text">Calls of {project}</h1>
      <FilterBar count={count} roots={roots} />
      <div class="calls-body">
        {error ? (
          <div class="in-place">
            <Failed error={error} again={() => void list.look(true)} />
          </div>
        ) : count === 0 ? (
          <div class="in-place">
            <NoCalls project={project} isFiltered={isFiltered} />
          </div>
        ) : (
          <div
            class="grid"
            role="grid"
            aria-label="Calls"
            aria-rowcount={(count ?? 0) + 1}
            aria-busy={count === undefined}
            tabIndex={0}
            ref={scroller}
          >
            <div class="grid-head" role="row" aria-rowindex={1}>
              {columns.map(({ name, label }) => (
                <div key={name} role="columnheader" class={`cell-${name}`}>
                  <span class={name === 'status' ? 'hidden-text' : ''}>{label}</span>
                </div>
              ))}
            </div>
            <VirtualRows
              scroller={scroller}
              count={count ?? 30}
              height={rowHeight}
              active={active}
              onRange={list.see}
              row={(index, top) => {
                const row = list.rows.value.get(index)
                return (
                  <CallLine
                    key={index}
                    {...{ index, top, project, row }}
                    preview={row && list.previews.value.get(row.id)}
                    isActive={index === active}
                    isPeeked={row !== undefined && row.id === peek}
                    onChoose={() => {
                      setActive(index)
                      setSearch({ peek: row?.id })
                    }}
                  />
                )
              }}
            />
          </div>
        )}
        {peek !== undefined && (
          <aside class="peek" aria-label="The call">
            <button
              type="button"
              class="icon-button peek-close"
              aria-label="Close"
              onClick={() => setSearch({ peek: undefined })}
            >
              <Icon name="close" />
            </button>
            <CallDetail project={project} call={peek} withTrace onChanged={() => void list.look(isAtTop())} />
          </aside>
        )}
        {list.fresh.value > 0 && (
          <button
            type="button"
            class="fresh"
            onClick={() => {
              scroller.current?.scrollTo({ top: 0 })
              void list.look(true)
            }}
          >
            {countText(list.fresh.value)} new
          </button>
        )}
      </div>
    </main>
  )
}

function NoCalls({ project, isFiltered }: { project: string; isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Empty title="No call fits this filter">
        <button
          type="button"
          onClick={() => setSearch({ op: undefined, status: undefined, text: undefined })}
        >
          Clear the filter
        </button>
      </Empty>
    )
  }
  return (
    <Empty title="No calls yet" command={firstCall(project)}>
      <p>
        Ask the model, and the answer is here a moment later. Clients of Weave and OpenTelemetry write here as
        well.
      </p>
    </Empty>
  )
}

const firstCall = (project: string) =>
  `curl ${location.origin}/v1/chat/completions \\
  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
  -H 'x-heddle-project: ${project}' \\
  -d '{"messages": [{"role": "user", "content": "Hello"}]}'`
