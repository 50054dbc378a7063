import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Expression } from '../../../packages/filter/index.ts'
import { useListPosition, useScrollRestoration } from '../../parts/list-position.ts'
import { rem } from '../../parts/rem.ts'
import { listKeys, useShortcuts } from '../../parts/shortcuts.ts'
import { SortHead } from '../../parts/sort-head.tsx'
import { Empty, Failed, FailedScreen, Skeleton } from '../../parts/states.tsx'
import { VirtualList } from '../../parts/virtual-list.tsx'
import { navigate, search, setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import type { Sort } from '../../server/calls.ts'
import { useHearing } from '../../server/events.ts'
import { isForbidden } from '../../server/request.ts'
import { latestFirst, type Thread } from '../../server/threads.ts'
import { countText } from '../../value/units.ts'
import { FilterBar } from '../calls/filter-bar.tsx'
import { DisconnectedNote, LiveSwitch } from '../calls/live.tsx'
import { parseQuery } from '../calls/parse-query.ts'
import { ThreadLine, threadHeight } from './line.tsx'
import { createThreadRows } from './rows.ts'
import { ThreadSelection } from './selection.tsx'

const columns: readonly { label: string; sort?: string; isNumber?: boolean }[] = [
  { label: 'Conversation', sort: 'start_time' },
  { label: 'Turns', sort: 'turn_count', isNumber: true },
  { label: 'Users' },
  { label: 'Agents, models' },
  { label: 'Cost', sort: 'cost', isNumber: true },
  { label: 'Errors', sort: 'error_count', isNumber: true },
  { label: 'Turn latency', sort: 'p50_turn_duration_ms', isNumber: true },
  { label: 'Feedback' },
  { label: 'Last activity', sort: 'last_updated' },
]

/** Conversations that are selected at most: their turns are read one after the other. */
const maxChosen = 100

/** The conversations of a project, those that went on last first. */
export function ThreadsScreen({ project }: { project: string }) {
  const text = search.value.get('q') ?? ''
  const sortText = search.value.get('sort')
  const read = useMemo(() => parseQuery(text), [text])
  // While the filter cannot be parsed, the list keeps the last filter that could.
  const query = useRef<Expression>(undefined)
  if (read.problem === undefined) query.current = (read as { query: Expression | undefined }).query
  const view = useMemo(
    () => ({ project, query: query.current, sort: sortIn(sortText) }),
    [project, query.current, sortText],
  )
  const scroller = useRef<HTMLDivElement>(null)
  const [active, setActive] = useState(-1)
  const [scrollRequest, setScrollRequest] = useState(0)
  /** Their last turns by their ids. */
  const [chosen, setChosen] = useState<ReadonlyMap<string, string>>(new Map())
  const isBusy = useRef(false)
  isBusy.current = active >= 0 || chosen.size > 0
  const list = useMemo(
    () =>
      createThreadRows(
        view,
        () => !isBusy.current && (scroller.current?.scrollTop ?? 0) < threadHeight * rem.value,
      ),
    [view],
  )
  useHearing(list)
  const position = useListPosition(JSON.stringify([project, text, sortText]))
  useLayoutEffect(() => {
    setActive(position.left?.active ?? -1)
    setChosen(new Map())
  }, [list])
  const threads = list.threads.value
  const keepPlace = useScrollRestoration(position, { scroller, isLoaded: threads && list, active })
  const count = threads?.length ?? 0
  const current = threads?.[active]
  const move = (by: number) => {
    setActive(Math.min(count - 1, Math.max(0, active + by)))
    setScrollRequest(scrollRequest + 1)
  }
  const choose = (thread: Thread | undefined) => {
    if (thread === undefined) return
    const next = new Map(chosen)
    if (!next.delete(thread.thread_id) && next.size < maxChosen)
      next.set(thread.thread_id, thread.last_turn_id)
    setChosen(next)
  }
  const showFresh = () => {
    setActive(-1)
    scroller.current?.scrollTo({ top: 0 })
    void list.reload()
  }
  useShortcuts(
    'Conversations',
    [
      ...listKeys('conversation', move, 'Last loaded conversation'),
      {
        keys: ['Enter', 'o'],
        does: 'Open conversation',
        run: () => current && navigate(paths.thread(project, current.thread_id)),
      },
      { keys: ['Escape'], does: 'Clear the focus', run: () => setActive(-1) },
    ],
    [
      { keys: ['x'], does: 'Select or deselect', run: () => choose(current) },
      {
        keys: ['.'],
        does: 'Pause or resume live updates',
        run: () => list.pause(!list.isPaused.value),
      },
      { keys: ['N'], does: 'Show new activity', run: showFresh },
    ],
  )
  const error = list.error.value
  if (isForbidden(error)) return <FailedScreen name="Conversations" error={error} />
  const fresh = list.fresh.value
  return (
    <main class="screen threads">
      <h1 class="hidden-text">Conversations of {project}</h1>
      <div class="filter-bar">
        <FilterBar text={text} problem={read.problem} meant={{ project, roots: false, query: view.query }} />
        <LiveSwitch list={list} />
        <output class="muted count">
          {threads &&
            `${countText(count)}${list.isAll.value ? '' : '+'} ${count === 1 ? 'conversation' : 'conversations'}`}
        </output>
      </div>
      <DisconnectedNote />
      <div class="calls-body">
        {error ? (
          <div class="in-place">
            <Failed error={error} retry={() => void list.reload()} />
          </div>
        ) : threads === undefined ? (
          <div class="in-place">
            <Skeleton rows={10} />
          </div>
        ) : count === 0 ? (
          <div class="in-place">
            <NoThreads project={project} isFiltered={text !== ''} />
          </div>
        ) : (
          <div
            class="grid threads-grid"
            role="grid"
            aria-label="Conversations"
            aria-multiselectable="true"
            aria-rowcount={list.isAll.value ? count + 1 : -1}
            tabIndex={0}
            ref={scroller}
            onScroll={() => keepPlace()}
          >
            <Head sort={view.sort} />
            <VirtualList
              scroller={scroller}
              count={count}
              height={threadHeight}
              active={active}
              scrollRequest={scrollRequest}
              onRange={list.see}
              row={(index, top) => {
                const thread = threads[index]
                return (
                  thread && (
                    <ThreadLine
                      key={thread.thread_id}
                      {...{ index, top, project, thread }}
                      isActive={index === active}
                      isChosen={chosen.has(thread.thread_id)}
                      onFocus={() => setActive(index)}
                      onChoose={() => choose(thread)}
                      onLeave={() => keepPlace(index)}
                    />
                  )
                )
              }}
            />
          </div>
        )}
        {chosen.size > 0 && <ThreadSelection {...{ project, chosen }} onClear={() => setChosen(new Map())} />}
        {fresh > 0 && (
          <button type="button" class="fresh" onClick={showFresh}>
            {countText(fresh)} new
          </button>
        )}
      </div>
    </main>
  )
}

function Head({ sort }: { sort: Sort }) {
  return (
    <div class="grid-head" role="row" aria-rowindex={1}>
      <div role="columnheader" class="cell-status">
        <span class="hidden-text">Status of the last turn</span>
      </div>
      {columns.map(({ label, sort: field, isNumber }) => (
        <SortHead key={label} {...{ label, field, sort, class: isNumber ? 'is-number' : undefined }} />
      ))}
    </div>
  )
}

function sortIn(text: string | null): Sort {
  const [, field = '', direction] = /^(.+)\.(asc|desc)$/.exec(text ?? '') ?? []
  return columns.some(({ sort }) => sort === field) ? { field, direction: direction as 'asc' } : latestFirst
}

function NoThreads({ project, isFiltered }: { project: string; isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Empty title="No conversations match this filter">
        <button type="button" onClick={() => setSearch({ q: undefined })}>
          Show all conversations
        </button>
      </Empty>
    )
  }
  return (
    <Empty title="No conversations yet">
      <p>
        Calls with the same thread are a conversation. Clients of Weave and OpenTelemetry name it; requests to
        the models of this server name it in the header <code>x-heddle-thread</code>.
      </p>
      <a class="button" href={paths.calls(project)}>
        Calls of the project
      </a>
    </Empty>
  )
}
