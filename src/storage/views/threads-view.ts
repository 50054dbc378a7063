import type { Expression } from '../../domain/expressions/expression.ts'
import type { ThreadField } from '../../domain/thread-fields.ts'
import type { Page, SortBy } from '../../domain/view.ts'

export interface ThreadsView extends Page {
  project: string
  /** Only threads with a call that it holds for. */
  query?: Expression | undefined
  threads: readonly string[] | undefined
  /** Microseconds; turns that began at exactly these times are left out. */
  after: number | undefined
  before: number | undefined
  sort: readonly (SortBy & { field: ThreadField })[]
}

/** A conversation. Times are microseconds; a duration is null while no turn has ended. */
export interface Thread {
  thread_id: string
  turn_count: number
  start_time: number
  last_updated: number
  first_turn_id: string
  last_turn_id: string
  p50_turn_duration_ms: number | null
  p99_turn_duration_ms: number | null
}
