import { Cost } from '../../parts/cost.tsx'
import { Status } from '../../parts/status.tsx'
import { Time } from '../../parts/time.tsx'
import { movedTo } from '../../parts/virtual-list.tsx'
import { paths } from '../../routes.ts'
import { shortOp } from '../../server/calls.ts'
import type { Thread } from '../../server/threads.ts'
import { previewText } from '../../value/preview-text.ts'
import { refName } from '../../value/ref.ts'
import { countText, durationText } from '../../value/units.ts'
import { FeedbackCounts } from '../calls/line.tsx'

/** As in style/threads.css. */
export const threadHeight = 3.25

interface Props {
  index: number
  top: number
  project: string
  thread: Thread
  isActive: boolean
  isChosen: boolean
  onFocus(): void
  onChoose(): void
  /** Called before its link is followed. */
  onLeave(): void
}

/** A conversation as one row: the first question and the last answer. */
export function ThreadLine({
  index,
  top,
  project,
  thread,
  isActive,
  isChosen,
  onFocus,
  onChoose,
  onLeave,
}: Props) {
  const { thread_id, exception, output_preview: answer } = thread
  const question = previewText(thread.input_preview ?? thread_id)
  const agents = thread.ops.map(shortOp)
  return (
    <div
      class={`grid-row ${isActive ? 'is-active' : ''} ${isChosen ? 'is-chosen' : ''}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isChosen}
      aria-current={isActive}
      ref={movedTo(top)}
      onClick={onFocus}
    >
      <div role="gridcell" class="cell-status">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={`Select ${question}`}
          checked={isChosen}
          onClick={(event) => {
            event.stopPropagation()
            onChoose()
          }}
        />
        <Status status={thread.status} isShort />
      </div>
      <div role="gridcell" class="cell-what">
        <a
          class="call-name"
          dir="auto"
          tabIndex={-1}
          href={paths.thread(project, thread_id)}
          title={`${thread.input_preview ?? ''}\n${thread_id}`.trim()}
          onClick={onLeave}
        >
          {question}
        </a>
        <span dir="auto" class={`preview ${exception === null ? '' : 'is-failed'}`}>
          {exception ?? (answer !== null && <>→ {previewText(answer)}</>)}
        </span>
      </div>
      <div role="gridcell" class="is-number">
        {countText(thread.turn_count)}
        <span class="unit"> {thread.turn_count === 1 ? 'turn' : 'turns'}</span>
      </div>
      <div role="gridcell" dir="auto" title={thread.users.join(', ')}>
        {listText(thread.users)}
      </div>
      <div role="gridcell" class="thread-who" title={[...agents, ...thread.models].join(', ')}>
        <span>{listText(agents)}</span>
        <span class="muted">{listText(thread.models.map(refName))}</span>
      </div>
      <div role="gridcell" class="is-number">
        <Cost
          {...{ cost: thread.cost, models: thread.models, tabIndex: -1 }}
          tokens={(thread.input_tokens ?? 0) + (thread.output_tokens ?? 0)}
        />
      </div>
      <div role="gridcell" class="is-number thread-errors">
        {thread.error_count > 0 && (
          <>
            {countText(thread.error_count)}
            <span class="unit"> failed</span>
          </>
        )}
      </div>
      <div role="gridcell" class="is-number">
        {thread.p50_turn_duration_ms !== null && durationText(thread.p50_turn_duration_ms)}
      </div>
      <div role="gridcell" class="cell-feedback">
        <FeedbackCounts feedback={thread.feedback} />
      </div>
      <div role="gridcell" class="cell-started">
        <Time at={thread.last_updated} />
      </div>
    </div>
  )
}

/** The first, and how many more. */
const listText = ([first = '', ...others]: readonly string[]): string =>
  others.length === 0 ? first : `${first} +${others.length}`
