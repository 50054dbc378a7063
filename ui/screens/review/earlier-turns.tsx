import { useEffect, useMemo } from 'preact/hooks'
import { Failed, Skeleton } from '../../parts/states.tsx'
import { paths } from '../../routes.ts'
import { isForbidden } from '../../server/request.ts'
import { type JsonNode, nodeAt, stringOf } from '../../value/json-index.ts'
import { countText } from '../../value/units.ts'
import { TurnView } from '../thread/turn-view.tsx'
import { createTurns } from '../thread/turns.ts'

/** Turns in which that of the item is looked for, and shown turns before it. */
const maxTurns = 500

interface Props {
  project: string
  call: JsonNode
}

/** The conversation up to a call that is one of its turns, to be read only. */
export function EarlierTurns({ project, call }: Props) {
  const text = (name: string) => stringOf(nodeAt(call, name))
  const thread = text('thread_id') ?? ''
  const id = text('id') ?? ''
  const isTurn = text('parent_id') === undefined || text('turn_id') === id
  return thread === '' || !isTurn ? null : <TurnsBefore key={thread} {...{ project, thread, id }} />
}

/** A review begins at what is judged; what was said before stays above it. */
const show = (element: HTMLElement | null) => element?.scrollIntoView()

function TurnsBefore({ project, thread, id }: { project: string; thread: string; id: string }) {
  const list = useMemo(() => createTurns(project, thread), [project, thread])
  useEffect(() => list.close, [list])
  const turns = list.turns.value
  const at = turns?.findIndex((turn) => turn.id === id) ?? -1
  const isSought = at === -1 && !list.isAll.value && (turns?.length ?? 0) < maxTurns
  useEffect(() => {
    if (isSought && turns !== undefined) void list.more()
  }, [turns])
  const error = list.error.value
  if (isForbidden(error)) {
    return <p class="muted">You may read the calls of this queue, and not the turns before them.</p>
  }
  if (error) return <Failed error={error} retry={list.retry} />
  if (isSought) return <Skeleton rows={3} />
  if (at === -1) {
    return (
      <p class="muted">
        It is not among the first {countText(maxTurns)} turns of{' '}
        <a href={paths.thread(project, thread)} target="_blank" rel="noopener">
          its conversation
        </a>
        .
      </p>
    )
  }
  if (at === 0) return null
  return (
    <section class="turns-before" aria-label="The conversation before">
      {turns?.slice(0, at).map((turn, index) => (
        <TurnView key={turn.id} {...{ index, project, turn, list }} />
      ))}
      <h2 class="turn-note" key={id} ref={show}>
        Turn {countText(at + 1)}: the one to review
      </h2>
    </section>
  )
}
