import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { AddConversations } from '../../adding/add-conversations.tsx'
import { AddToDataset } from '../../adding/add-to-dataset.tsx'
import { AddToQueue } from '../../adding/add-to-queue.tsx'
import { toggleValue } from '../../filter/facet-filter.ts'
import { addKeys } from '../../parts/add-buttons.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Tokens } from '../../parts/cost.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useListPosition } from '../../parts/list-position.ts'
import { MoreActs } from '../../parts/more-acts.tsx'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { Empty, Failed, FailedScreen, LoadingScreen, Skeleton } from '../../parts/states.tsx'
import { navigate, search, setSearch } from '../../router.ts'
import { paths } from '../../routes.ts'
import { useHearing } from '../../server/events.ts'
import { may } from '../../server/rights.ts'
import { previewText } from '../../value/preview-text.ts'
import { costText, countText } from '../../value/units.ts'
import { DisconnectedNote } from '../calls/live.tsx'
import { ThreadFeedback } from './thread-feedback.tsx'
import { TurnView } from './turn-view.tsx'
import { createTurns } from './turns.ts'

/** The list of all calls that name the thread. */
const asList = (project: string, thread: string) =>
  paths.calls(project, { q: toggleValue('', { field: 'thread', value: thread, isJson: false }), all: '1' })

interface Adding {
  to: 'queue' | 'dataset'
  /** Without calls, the whole conversation. */
  calls?: readonly string[]
}

/** One conversation, from its first turn to its last. */
export function ThreadScreen({ project }: { project: string }) {
  const thread = search.value.get('thread') ?? ''
  const list = useMemo(() => createTurns(project, thread), [project, thread])
  useHearing(list)
  const scroller = useRef<HTMLDivElement>(null)
  const [adding, setAdding] = useState<Adding>()
  const turns = list.turns.value
  const chosen = search.value.get('turn') ?? undefined
  const active = turns?.findIndex(({ id }) => id === chosen) ?? -1

  const sectionOf = (id: string | undefined) =>
    id === undefined ? null : document.getElementById(`turn-${id}`)
  const goTo = (index: number) => {
    const turn = turns?.[Math.min(turns.length - 1, Math.max(0, index))]
    if (turn === undefined) return
    setSearch({ turn: turn.id })
    sectionOf(turn.id)?.scrollIntoView({ block: 'start' })
  }
  const { left, keep } = useListPosition(`${project} ${thread}`)
  // The turn where the user left, or that of the address. It may be on a later page.
  const isSought = useRef(left !== undefined || chosen !== undefined)
  useEffect(() => {
    if (turns === undefined || !isSought.current) return
    const section = sectionOf(left === undefined ? chosen : turns[left.active]?.id)
    if (section === null) void list.more()
    else {
      section.scrollIntoView({ block: 'start' })
      isSought.current = false
    }
  }, [turns])

  /** The chosen turn, or the first one on the screen if that has been scrolled away. */
  const here = (preferred = [chosen]): number => {
    const box = scroller.current?.getBoundingClientRect()
    if (box === undefined || turns === undefined) return active
    const isSeen = (id: string | undefined) => {
      const section = sectionOf(id)?.getBoundingClientRect()
      return section !== undefined && section.bottom > box.top + 1 && section.top < box.bottom
    }
    const seen = preferred.find((id) => id !== undefined && isSeen(id))
    return turns.findIndex(({ id }) => (seen === undefined ? isSeen(id) : id === seen))
  }
  /** The turn whose link was followed, which need not be the chosen one. */
  const clicked = useRef<string | undefined>(undefined)
  const keepTurn = () => {
    // The browser may tell of a scroll when the screen is gone.
    if (scroller.current === null) return
    keep({ top: 0, active: Math.max(0, here([clicked.current, chosen])), rows: turns?.length ?? 0 })
  }
  const last = async () => {
    const id = (await list.all()).at(-1)?.id
    setSearch({ turn: id })
    // It is drawn with the next frame.
    requestAnimationFrame(() => sectionOf(id)?.scrollIntoView({ block: 'start' }))
  }
  const failure = (by: 1 | -1) => {
    const from = here()
    const length = turns?.length ?? 0
    for (let step = 1; step <= length; step++) {
      const index = (((from + by * step) % length) + length) % length
      if (/error/.test(turns?.[index]?.status ?? '')) return goTo(index)
    }
  }
  const addTurn = (to: Adding['to']) => {
    const id = turns?.[here()]?.id
    if (id !== undefined) setAdding({ to, calls: [id] })
  }
  const addAll = async (to: Adding['to']) => setAdding({ to, calls: (await list.all()).map(({ id }) => id) })
  const openTrace = () => {
    const turn = turns?.[here()]
    if (turn === undefined) return
    keepTurn()
    navigate(paths.trace(project, turn.trace_id, turn.id))
  }
  const mayWrite = may('write', project)
  useShortcuts(
    'Conversation',
    [
      {
        keys: ['j', ']'],
        does: 'Next turn',
        run: () => goTo(active === -1 && scroller.current?.scrollTop === 0 ? 0 : here() + 1),
      },
      { keys: ['k', '['], does: 'Previous turn', run: () => goTo(here() - 1) },
      { keys: ['g g'], does: 'First turn', run: () => goTo(0) },
      { keys: ['G'], does: 'Last turn', run: () => void last() },
      { keys: ['f'], does: 'Next turn with an error', run: () => failure(1) },
      { keys: ['F'], does: 'Previous turn with an error', run: () => failure(-1) },
      { keys: ['t'], does: 'Open the trace of the turn', run: openTrace },
      { keys: ['Escape'], does: 'Back to the conversations', run: () => navigate(paths.threads(project)) },
    ],
    addKeys(project, addTurn, 'Add the turn'),
  )

  const error = list.error.value
  if (error && turns === undefined)
    return <FailedScreen name="Conversation" error={error} retry={list.retry} />
  if (turns === undefined) return <LoadingScreen />
  if (turns.length === 0) {
    return (
      <main class="screen">
        <h1 class="hidden-text">Conversation</h1>
        <Empty title="Conversation not found">
          <p>
            It has no turns here: calls without a caller. It was deleted, has expired, or belongs to another
            project. <a href={asList(project, thread)}>Calls that name it</a>
          </p>
          <a class="button" href={paths.threads(project)}>
            All conversations of the project
          </a>
        </Empty>
      </main>
    )
  }
  const summary = list.summary.value
  const tokens = summary && { input: summary.input_tokens ?? 0, output: summary.output_tokens ?? 0 }
  const count = summary?.turn_count ?? turns.length
  const acts = [
    ['Conversation to queue', 'As one item: its last turn', () => setAdding({ to: 'queue' }), !summary],
    ['Conversation to dataset', 'As one row', () => setAdding({ to: 'dataset' }), false],
    ['Turns to queue', 'Each turn as an item', () => void addAll('queue'), false],
    ['Turns to dataset', 'Each turn as a row', () => void addAll('dataset'), false],
  ] as const
  return (
    <main class="screen thread">
      <div class="trace-bar thread-bar">
        <a class="icon-button" href={paths.threads(project)} aria-label="Back to the conversations">
          <Icon name="back" />
        </a>
        <h1 dir="auto" title={thread}>
          {previewText(turns[0]?.input_preview ?? summary?.input_preview ?? thread)}
        </h1>
        <span>
          {countText(count)} {count === 1 ? 'turn' : 'turns'}
        </span>
        {tokens && tokens.input + tokens.output > 0 && <Tokens {...tokens} />}
        {summary?.cost != null && <span>{costText(summary.cost)}</span>}
        {summary !== undefined && summary.error_count > 0 && (
          <button
            type="button"
            class="quiet trace-failed"
            title="Next turn with an error (f)"
            onClick={() => failure(1)}
          >
            {countText(summary.error_count)} failed
          </button>
        )}
        <a href={asList(project, thread)}>View as list</a>
        <span class="thread-id">
          <code class="muted" title={thread}>
            {thread}
          </code>
          <CopyButton text={thread} label="Copy thread ID" />
        </span>
        {mayWrite && (
          <MoreActs>
            {acts.map(([name, title, run, disabled]) => (
              <button key={name} type="button" {...{ title, disabled }} onClick={run}>
                {name}
              </button>
            ))}
          </MoreActs>
        )}
      </div>
      <DisconnectedNote />
      <div
        class="turns"
        ref={scroller}
        tabIndex={0}
        role="group"
        aria-label="Turns"
        onScroll={keepTurn}
        // A link may be followed before the browser tells of the scrolling, and from a turn that is not the first seen.
        onClickCapture={({ target }) => {
          clicked.current = turns.find(({ id }) => sectionOf(id)?.contains(target as Node))?.id
          keepTurn()
        }}
      >
        <ThreadFeedback key={thread} {...{ project, thread }} />
        {turns.map((turn, index) => (
          <TurnView
            key={turn.id}
            {...{ index, project, turn, list }}
            isActive={index === active}
            onChoose={() => setSearch({ turn: turn.id })}
            add={(to) => setAdding({ to, calls: [turn.id] })}
          />
        ))}
        {error && <Failed error={error} retry={list.retry} />}
        {!list.isAll.value && !error && <More onSeen={() => void list.more()} key={turns.length} />}
      </div>
      {adding?.to === 'queue' && (
        <AddToQueue
          project={project}
          calls={adding.calls ?? [summary?.last_turn_id ?? []].flat()}
          noun={adding.calls ? 'call' : 'conversation'}
          onClose={() => setAdding(undefined)}
        />
      )}
      {adding?.to === 'dataset' &&
        (adding.calls ? (
          <AddToDataset project={project} calls={adding.calls} onClose={() => setAdding(undefined)} />
        ) : (
          <AddConversations project={project} threads={[thread]} onClose={() => setAdding(undefined)} />
        ))}
    </main>
  )
}

/** Reads the next page when the end comes near the screen. */
function More({ onSeen }: { onSeen(): void }) {
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const end = element.current as HTMLDivElement
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) onSeen()
      },
      { rootMargin: '2000px 0px', root: end.closest('.turns') },
    )
    observer.observe(end)
    return () => observer.disconnect()
  }, [])
  return (
    <div ref={element}>
      <Skeleton rows={3} />
    </div>
  )
}
