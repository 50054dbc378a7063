import { JsonText } from '../../domain/json/text.ts'
import { formatTime, formatTimeOrNull } from '../../domain/time.ts'
import type { Monitor, MonitorScorer } from '../../storage/monitors/monitors.ts'
import { Value } from '../objects/values.ts'
import { conditionNames } from './conditions.ts'

export function monitorRecord(monitor: Monitor): Record<string, unknown> {
  const scorers = JSON.parse(monitor.scorers) as MonitorScorer[]
  return {
    id: monitor.id,
    project_id: monitor.project_id,
    name: monitor.name,
    description: monitor.description,
    scorers: scorers.map(({ ref, fields }) => ({ scorer: ref, fields })),
    ...conditionFields(monitor.conditions),
    sampling_rate: monitor.sampling_rate,
    token_budget: monitor.token_budget,
    active: monitor.active === 1,
    stopped: monitor.stopped,
    runs_as: monitor.runs_as,
    created_at: formatTime(monitor.created_at),
    created_by: monitor.created_by,
    updated_at: formatTime(monitor.updated_at),
    deleted_at: formatTimeOrNull(monitor.deleted_at),
  }
}

/** All conditions; null for those that are not given. */
export function conditionFields(text: string): Record<string, unknown> {
  const conditions = new Value(text)
  return Object.fromEntries(
    conditionNames.map((name) => [name, new JsonText(conditions.member(name)?.text ?? 'null')]),
  )
}
