import { isReached } from '../../domain/alerts.ts'
import { newId } from '../../domain/ids.ts'
import { countWaiting } from '../queues/waiting.ts'
import { sql } from '../sql/sql.ts'
import type { Transaction } from '../transaction.ts'
import { fire } from './firing.ts'
import type { Happened } from './outbox.ts'
import { watchedIn } from './watched.ts'

/** How many more items of a queue wait than before a write, or fewer: no annotator has completed or skipped them. */
export interface QueueStep {
  queue_id: string
  waiting: number
}

/**
 * Called after items were added, opened again or finished: fires the rules whose number is reached by it. When fewer wait,
 * a rule may fire anew.
 *
 * Called when all queues of the write are locked, so that no write has the lock of a rule and waits for a queue.
 */
export async function fireForQueues(
  tx: Transaction,
  project_id: string,
  steps: readonly QueueStep[],
  now: number,
): Promise<void> {
  const added = new Map<string, number>()
  for (const { queue_id, waiting } of steps) added.set(queue_id, waiting + (added.get(queue_id) ?? 0))
  const { queues } = await watchedIn(tx, project_id)
  // Only a rule that waits for the end looks at what is finished, so that no other makes this count.
  const rules = queues.filter(({ condition }) =>
    steps.some(({ waiting }) => waiting < 0 === (condition.queue?.waiting === 0)),
  )
  const largest = Math.max(...rules.map(({ condition }) => condition.queue?.waiting ?? 0))
  const uses = rules.length === 0 ? [] : await usesOf(tx, project_id, added, largest)
  for (const rule of uses.length > 0 ? rules : []) {
    const bounds = rule.condition.queue
    if (bounds === undefined) continue
    const { queue_id, waiting: bound } = bounds
    const passing = uses.filter((use) => (queue_id ?? use.id) === use.id && isReached(bound, use))
    const happened = passing.map((use) => aboutQueue(use, bound))
    await fire(tx, rule, happened, now)
  }
}

interface Use {
  id: string
  name: string
  before: number
  after: number
}

/** Counts no further than it takes to see which numbers up to the largest were reached. */
async function usesOf(
  tx: Transaction,
  project_id: string,
  added: ReadonlyMap<string, number>,
  largest: number,
): Promise<Use[]> {
  const uses: Use[] = []
  for (const [queue_id, more] of added) {
    if (more === 0) continue
    const queue = await tx.get<{ name: string }>(
      sql`SELECT name FROM annotation_queues WHERE project_id = ${project_id} AND id = ${queue_id}`,
    )
    const after = await countWaiting(tx, { project_id, queue_id }, Math.max(largest + more, 1))
    uses.push({ id: queue_id, name: queue?.name ?? '', before: after - more, after })
  }
  return uses
}

/** A queue may reach the number many times, so the subject is of this one. */
function aboutQueue({ id, name, after }: Use, bound: number): Happened {
  return { subject: `queue ${id} ${newId()}`, data: { queue: { id, name, waiting: after, bound } } }
}
