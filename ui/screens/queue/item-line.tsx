import { Time } from '../../parts/time.tsx'
import { paths } from '../../places.ts'
import { shortOp } from '../../server/calls.ts'
import type { ItemState, QueueItem } from '../../server/queues.ts'

/** As style/queues.css has it. */
export const itemHeight = 2.25

export const stateNames: Record<ItemState, string> = {
  unstarted: 'Open',
  in_progress: 'Begun',
  completed: 'Completed',
  skipped: 'Skipped',
}

/** Never by its colour alone. */
export function StateName({ state }: { state: ItemState }) {
  return (
    <span class="status" data-state={state}>
      {stateNames[state]}
    </span>
  )
}

export interface PreviewedItem extends QueueItem {
  /** What the call was asked. */
  preview: string | null
}

interface Props {
  index: number
  top: number
  project: string
  queue: string
  item: PreviewedItem | undefined
  isActive: boolean
  onChoose(): void
  /** Somebody follows its link. */
  onLeave(): void
}

export function ItemLine({ index, top, project, queue, item, isActive, onChoose, onLeave }: Props) {
  const place = (element: HTMLElement | null) =>
    element?.style.setProperty('transform', `translateY(${top}px)`)
  const classes = `grid-row ${isActive ? 'is-active' : ''}`
  if (item === undefined) {
    return (
      <div class={`${classes} is-coming`} role="row" aria-rowindex={index + 2} ref={place}>
        <div role="gridcell" />
      </div>
    )
  }
  const { lease, annotator_user_id: annotator, annotation_state_changed_at: since } = item
  const isLeased = lease !== null && Date.parse(lease.expires_at) > Date.now()
  return (
    <div
      class={classes}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isActive}
      ref={place}
      onClick={onChoose}
    >
      <div role="gridcell" class="item-nr">
        {item.position_in_queue}
      </div>
      <div role="gridcell" class="item-state">
        <StateName state={item.annotation_state} />
      </div>
      <div role="gridcell" class="item-call" title={item.call_id}>
        <a tabIndex={-1} href={paths.review(project, queue, item.id)} onClick={onLeave}>
          {item.preview ?? shortOp(item.call_op_name)}
        </a>{' '}
        <span class="muted">{item.preview === null ? item.call_id : shortOp(item.call_op_name)}</span>
      </div>
      <div role="gridcell" class="item-reviewer">
        {annotator ?? ''}
        {isLeased && lease.user !== annotator && <span class="muted"> {lease.user} has it</span>}
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
