import { useEffect, useRef, useState } from 'preact/hooks'
import type { LightCall } from '../../../src/operations/views/contract.ts'
import { Thumbs } from '../../call/thumbs.tsx'
import { AddButtons } from '../../parts/add-buttons.tsx'
import { Tokens } from '../../parts/cost.tsx'
import { Failed } from '../../parts/states.tsx'
import { Status } from '../../parts/status.tsx'
import { Time } from '../../parts/time.tsx'
import { paths } from '../../routes.ts'
import { useLoading } from '../../server/loading.ts'
import { Chat } from '../../value/chat.tsx'
import { previewText } from '../../value/preview-text.ts'
import { callRefOf, refName } from '../../value/ref.ts'
import { costText, countText, durationText } from '../../value/units.ts'
import { FeedbackCounts } from '../calls/line.tsx'
import type { TurnContent } from './turn-content.ts'
import type { Turns } from './turns.ts'

interface Props {
  index: number
  project: string
  turn: LightCall
  list: Turns
  isActive?: boolean
  onChoose?(): void
  /** Without it the turn is only shown. */
  add?(to: 'queue' | 'dataset'): void
}

/** One turn. What it says is read when it comes near the screen. */
export function TurnView({ index, project, turn, list, isActive = false, onChoose, add }: Props) {
  const element = useRef<HTMLElement>(null)
  const isNear = useNear(element)
  // What runs may have said more; what has ended changes only when its call does.
  const turnVersion = turn.status === 'running' ? list.version.value : `${turn.ended_at} ${turn.status}`
  const { value, error, reload } = useLoading<TurnContent | undefined>(
    async () => (isNear ? list.content(index) : undefined),
    [isNear, turn.id, turnVersion],
  )
  const number = countText(index + 1)
  return (
    <section
      ref={element}
      id={`turn-${turn.id}`}
      class={`thread-turn ${isActive ? 'is-active' : ''}`}
      aria-label={`Turn ${number}`}
      aria-current={isActive}
      onClick={onChoose}
    >
      <header class="turn-head">
        <h2>{number}</h2>
        <Status status={turn.status} isShort={turn.status !== 'error' && turn.status !== 'running'} />
        <Time at={turn.started_at} />
        {turn.latency_ms !== null && <span>{durationText(turn.latency_ms)}</span>}
        <Used turn={turn} content={value} />
        {turn.model !== null && (
          <span class="turn-model muted" title={turn.model}>
            {refName(turn.model)}
          </span>
        )}
        {turn.svc_user_id !== null && <span class="muted">{turn.svc_user_id}</span>}
        <span class="turn-tools">
          <FeedbackCounts feedback={turn.feedback} />
          {add && value !== undefined && (
            <Thumbs project={project} about={callRefOf(project, turn.id)} hasKeys={isActive} />
          )}
          {add && <AddButtons {...{ project, add }} className="quiet" />}
          <a class="button quiet" href={paths.trace(project, turn.trace_id, turn.id)}>
            Trace
          </a>
        </span>
      </header>
      {error && <Failed error={error} retry={reload} />}
      {!error && value === undefined && <Preview turn={turn} />}
      {value !== undefined && (
        <>
          {value.isNewStart && (
            <p class="turn-note muted">This request does not go on from the turn before.</p>
          )}
          <Chat asked={value.asked} answered={value.answered} />
          {value.asked.length + value.answered.length === 0 && <p class="muted">Nothing recorded.</p>}
          {value.leftOut > 0 && (
            <p class="turn-note muted">
              {countText(value.leftOut)} more calls are in the{' '}
              <a href={paths.trace(project, turn.trace_id)}>trace</a>.
            </p>
          )}
        </>
      )}
    </section>
  )
}

/** With everything below the turn, once that is read. */
function Used({ turn, content }: { turn: LightCall; content: TurnContent | undefined }) {
  const { input_tokens: input, output_tokens: output } = turn
  const own = input === null && output === null ? undefined : { input: input ?? 0, output: output ?? 0 }
  const tokens = content?.tokens ?? own
  const cost = content?.cost ?? turn.cost
  const failed = content?.failed ?? 0
  return (
    <>
      {tokens && <Tokens {...tokens} />}
      {cost !== null && <span>{costText(cost)}</span>}
      {failed > 0 && <span class="turn-failed">{countText(failed)} failed below</span>}
    </>
  )
}

/** As long as a turn is not read, its first lines. */
function Preview({ turn: { input_preview: question, output_preview: answer } }: { turn: LightCall }) {
  return (
    <ol class="chat" aria-busy="true">
      {[question, answer].map(
        (line, index) =>
          line !== null && (
            <li key={index} class={`said ${index === 1 ? 'is-answer' : ''}`}>
              <div class="said-by">{index === 0 ? 'user' : 'assistant'}</div>
              <div class="said-what" dir="auto">
                {previewText(line)}
              </div>
            </li>
          ),
      )}
    </ol>
  )
}

/** What is only scrolled past is not read. */
const restMs = 80

/** Whether the element has been near the screen for a moment; it stays so. */
function useNear(element: { current: HTMLElement | null }): boolean {
  const [isNear, setNear] = useState(false)
  useEffect(() => {
    const watched = element.current
    if (watched === null || isNear) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const observer = new IntersectionObserver(
      (entries) => {
        clearTimeout(timer)
        if (entries.at(-1)?.isIntersecting) timer = setTimeout(() => setNear(true), restMs)
      },
      { rootMargin: '600px 0px', root: watched.closest('.turns') },
    )
    observer.observe(watched)
    return () => {
      clearTimeout(timer)
      observer.disconnect()
    }
  }, [isNear])
  return isNear
}
