/** What threads are sorted by. */
export const threadFields = [
  ...(['thread_id', 'turn_count', 'start_time', 'last_updated', 'p50_turn_duration_ms'] as const),
  ...(['p99_turn_duration_ms', 'cost', 'error_count'] as const),
] as const
export type ThreadField = (typeof threadFields)[number]
