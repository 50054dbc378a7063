import { annotationStates, itemStates } from '../../domain/annotation-states.ts'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { requireFew } from '../../domain/refusals.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { countItems, type QueueCount } from '../../storage/queues/queues.ts'
import type { StatsBody } from './contract.ts'

const maxQueues = 1000

/** An entry for each named queue, once, in the given order; zeros for one that does not exist. */
export async function queueStats(db: BoundDatabase, caller: Caller, body: StatsBody) {
  const { project_id, queue_ids } = body
  requireAccess(caller, project_id)
  requireFew('queue_ids', queue_ids, maxQueues)
  const stats = new Map(queue_ids.map((id) => [id, noStats(id)]))
  for (const count of await countItems(db, project_id, [...stats.keys()])) {
    add(stats.get(count.queue_id) as QueueStats, count)
  }
  return { stats: [...stats.values()].map(shown) }
}

type Counts<State extends string> = Record<State, number>

interface QueueStats {
  queue_id: string
  total_items: number
  completed_items: number
  disagreed_items: number
  by_state: Counts<(typeof itemStates)[number]>
  by_user: Map<string, Counts<(typeof annotationStates)[number]>>
}

const zeros = <State extends string>(states: readonly State[]) =>
  Object.fromEntries(states.map((state) => [state, 0])) as Counts<State>

function noStats(queue_id: string): QueueStats {
  return {
    queue_id,
    total_items: 0,
    completed_items: 0,
    disagreed_items: 0,
    by_state: zeros(itemStates),
    by_user: new Map(),
  }
}

function add(stats: QueueStats, row: QueueCount): void {
  if (row.annotator === null) {
    stats.total_items += row.count
    stats.completed_items += row.finished
    stats.disagreed_items += row.disagreed
    stats.by_state[row.state] = row.count
  } else {
    const counts = stats.by_user.get(row.annotator) ?? zeros(annotationStates)
    counts[row.state] = row.count
    stats.by_user.set(row.annotator, counts)
  }
}

function shown({ by_user, ...stats }: QueueStats) {
  const users = [...by_user].sort(([user], [other]) => (user < other ? -1 : 1))
  return { ...stats, by_user: users.map(([user, counts]) => ({ user, ...counts })) }
}
