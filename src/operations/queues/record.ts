import { JsonText } from '../../domain/json/text.ts'
import { sidesOf } from '../../domain/queues/pairs.ts'
import { formatTime, formatTimeOrNull } from '../../domain/time.ts'
import type { SeenItem } from '../../storage/queues/items.ts'
import type { Queue } from '../../storage/queues/queues.ts'
import type { QueueRule } from '../../storage/queues/rules.ts'

export function queueRecord(queue: Queue): Record<string, unknown> {
  return {
    id: queue.id,
    project_id: queue.project_id,
    name: queue.name,
    description: queue.description,
    scorer_refs: new JsonText(queue.scorer_refs),
    annotators: Number(queue.annotators),
    reviewers: new JsonText(queue.reviewers),
    blind: Number(queue.blind) === 1,
    adjudication: queue.adjudication,
    adjudicators: new JsonText(queue.adjudicators),
    tolerance: new JsonText(queue.tolerance),
    created_at: formatTime(queue.created_at),
    created_by: queue.created_by,
    updated_at: formatTime(queue.updated_at),
    deleted_at: formatTimeOrNull(queue.deleted_at),
  }
}

interface Seeing {
  user: string
  time: number
  withPosition?: boolean
}

/** As the user sees it at this time. */
export function itemRecord(
  item: SeenItem,
  { user, time, withPosition = true }: Seeing,
): Record<string, unknown> {
  const added = formatTime(item.added_at)
  return {
    id: item.id,
    queue_id: item.queue_id,
    project_id: item.project_id,
    call_id: item.call_id,
    other_call_id: item.other_call_id,
    display: sidesOf(item, user),
    call_op_name: item.call_op_name,
    call_started_at: formatTime(item.call_started_at),
    call_ended_at: formatTimeOrNull(item.call_ended_at),
    call_trace_id: item.call_trace_id,
    created_at: added,
    created_by: item.added_by,
    updated_at: item.state_at === null ? added : formatTime(item.state_at),
    deleted_at: null,
    added_by: item.added_by,
    rule_id: item.rule_id,
    annotation_state: item.state,
    annotation_state_changed_at: formatTimeOrNull(item.state_at),
    annotator_user_id: item.annotator,
    own_annotation_state: item.own_state ?? 'unstarted',
    display_fields: new JsonText(item.display_fields),
    position_in_queue: withPosition ? item.position : null,
    lease: leaseOf(item, time),
    review: {
      finished: Number(item.finished_by),
      needed: Number(item.needed),
      outcome: item.outcome,
      adjudicated_by: item.adjudicated_by,
    },
  }
}

function leaseOf({ leased_by, leased_until }: SeenItem, time: number) {
  if (leased_until === null || leased_until <= time) return null
  return { user: leased_by, expires_at: formatTime(leased_until) }
}

export function ruleRecord(rule: QueueRule): Record<string, unknown> {
  return {
    id: rule.id,
    queue_id: rule.queue_id,
    project_id: rule.project_id,
    pick: new JsonText(rule.pick),
    filter: new JsonText(rule.filter),
    display_fields: new JsonText(rule.display_fields),
    paused: rule.paused === 1,
    counted: rule.counted,
    created_at: formatTime(rule.created_at),
    created_by: rule.created_by,
    updated_at: formatTime(rule.updated_at),
  }
}
