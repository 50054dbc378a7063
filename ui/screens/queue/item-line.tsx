import { live } from '../../export/contents.ts'
import { Time } from '../../parts/time.tsx'
import { ComingRow, movedTo } from '../../parts/virtual-list.tsx'
import { paths } from '../../routes.ts'
import { shortOp } from '../../server/calls.ts'
import type { ItemState, QueueItem } from '../../server/queues.ts'
import { previewText } from '../../value/preview-text.ts'
import type { PreviewedItem } from './item-previews.ts'

/** As in style/queues.css. */
export const itemHeight = 2.25

export const stateNames: Record<ItemState, string> = {
  unstarted: 'Open',
  in_progress: 'In progress',
  completed: 'Completed',
  skipped: 'Skipped',
}

/** The state is never shown by colour alone. */
function StateName({ state }: { state: ItemState }) {
  return (
    <span class="status" data-state={state}>
      {stateNames[state]}
    </span>
  )
}

/** Without a queue, and in an exported file, items link to their calls: nothing is reviewed there. */
export const pathOfItem = (project: string, queue: string | undefined, { id, call_id }: QueueItem): string =>
  (queue === undefined ? undefined : live(paths.review(project, queue, id))) ?? paths.call(project, call_id)

const reviewText = ({ review: { outcome, finished, needed } }: QueueItem) =>
  outcome === 'open' || outcome === 'in_review' ? `${finished} of ${needed}` : outcome

interface Props {
  index: number
  top: number
  project: string
  /** Undefined where the user does not review it. */
  queue: string | undefined
  item: PreviewedItem | undefined
  isActive: boolean
  onChoose(): void
  /** Called before its link is followed. */
  onLeave(): void
}

export function ItemLine({ index, top, project, queue, item, isActive, onChoose, onLeave }: Props) {
  const classes = `grid-row ${isActive ? 'is-active' : ''}`
  if (item === undefined) return <ComingRow {...{ index, top, classes }} />
  const preview = item.call?.input_preview ?? null
  const shown = preview && previewText(preview)
  const { lease, annotator_user_id: annotator, annotation_state_changed_at: since } = item
  const isLeased = lease !== null && Date.parse(lease.expires_at) > Date.now()
  return (
    <div
      class={classes}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isActive}
      ref={movedTo(top)}
      onClick={onChoose}
    >
      <div role="gridcell" class="item-nr">
        {item.position_in_queue}
      </div>
      <div role="gridcell" class="item-state">
        <StateName state={item.annotation_state} />
        {item.review.needed > 1 && <span class="muted"> {reviewText(item)}</span>}
      </div>
      <div role="gridcell" class="item-call" title={`${preview ?? ''}\n${item.call_id}`.trim()}>
        <a tabIndex={-1} href={pathOfItem(project, queue, item)} onClick={onLeave}>
          {shown ?? (item.other_call_id === null ? shortOp(item.call_op_name) : item.call_id)}
        </a>{' '}
        <span class="muted">
          {item.other_call_id !== null
            ? 'pair'
            : preview === null
              ? item.call_id
              : shortOp(item.call_op_name)}
        </span>
      </div>
      <div role="gridcell" class="item-reviewer">
        {annotator ?? ''}
        {isLeased && lease.user !== annotator && <span class="muted"> with {lease.user}</span>}
      </div>
      <div role="gridcell" class="item-since">
        {since !== null && <Time at={since} />}
      </div>
      <div role="gridcell" class="item-started">
        <Time at={item.call_started_at} />
      </div>
    </div>
  )
}
