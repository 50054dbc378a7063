import type { ScorePick } from './queues/rules.ts'

/** What an event can be; endpoints may choose among them. A test goes to its endpoint only. */
export const eventTypes = [
  ...(['alert.fired', 'alert.resolved', 'endpoint.disabled', 'evaluation_run.finished'] as const),
  ...(['object.alias_changed', 'import.finished', 'test'] as const),
] as const
export type EventType = (typeof eventTypes)[number]

export const severities = ['critical', 'error', 'warning', 'info'] as const
export const formats = ['standard', 'slack', 'teams', 'pagerduty'] as const
export type Format = (typeof formats)[number]

/**
 * A call as it ends, a score or other feedback as it comes, a typed decision, a queue that grows, a budget that is used up,
 * or figures of a window of time.
 */
export const watchedThings = ['call', 'score', 'decision', 'queue', 'budget', 'window'] as const
export type Watched = (typeof watchedThings)[number]

/** Of the calls that began in a window, but for `score_avg`, which is of the scores that came in it. */
export const measures = [
  ...(['calls', 'errors', 'error_rate', 'latency_avg_ms', 'latency_p50_ms', 'latency_p95_ms'] as const),
  ...(['latency_p99_ms', 'tokens', 'cost', 'score_avg'] as const),
] as const
export type Measure = (typeof measures)[number]

/** Of the amount of a budget of the project: fires in the write with which this much of it is spent. */
export interface BudgetBounds {
  share: number
}

/** Fires in the write with which so many items of a queue wait, or with 0 none any more; null means any queue of the project. */
export interface QueueBounds {
  queue_id: string | null
  waiting: number
}

/** Whether a change in the number of waiting items is what a rule on a queue tells of. */
export const isReached = (bound: number, { before, after }: { before: number; after: number }): boolean =>
  bound === 0 ? before > 0 && after === 0 : before < bound && after >= bound

export type ScoreBounds = Omit<ScorePick, 'kind'>

export interface WindowBounds {
  measure: Measure
  /** Of `score_avg`: what follows `wandb.runnable.` in the feedback type, and a path below `payload.output`. */
  scorer: string | null
  path: string | null
  seconds: number
  /** Exactly one of the two is a number. */
  below: number | null
  above: number | null
  /** With fewer ended calls or scores than this in the window, rates and averages are not decided. */
  min_count: number
}

/** Whether a figure is beyond the bound of its window. */
export const isBeyond = ({ below, above }: Pick<WindowBounds, 'below' | 'above'>, value: number): boolean =>
  below !== null ? value < below : above !== null && value > above
