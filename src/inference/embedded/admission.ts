import { refuse } from '../../domain/refusals.ts'
import type { Generation } from '../backend.ts'
import { tooLong } from './checks.ts'

/** What the server checks by itself, before the engine hears of a generation. Both throw a refusal. */

/**
 * Each token stands for a limited number of bytes: a text far beyond the context is not worth the time of the engine. Of a
 * truncated one no more is read than is kept.
 */
export function checkTextLength(
  { prompt, truncate, ending }: Generation,
  longestToken: number,
  context: number,
): void {
  if (!('text' in prompt) || truncate !== undefined) return
  const fewest = Math.ceil(prompt.text.length / longestToken)
  if (fewest > context) throw tooLong(context, `at least ${fewest}`, ending)
}

/**
 * One tenant may have this many times as many requests in the queue as there are free slots. So one alone fills seven
 * eighths of it, and others still get in. Nothing is reserved, and the number of tenants need not be known (dynamic
 * thresholds, as switches with a shared memory have them: Choudhury and Hahne, 1998).
 */
const share = 7

/** Whether there is room for one more generation of this tenant beside those that run or wait. */
export function checkQueueRoom(
  admitted: readonly { tenant: string | undefined }[],
  tenant: string | undefined,
  { parallel, queue }: { parallel: number; queue: number },
): void {
  const free = parallel + queue - admitted.length
  if (free <= 0) throw refuse('engine_queue_full', { limit: queue })
  if (tenant === undefined) return
  const own = admitted.filter((one) => one.tenant === tenant).length
  if (own >= parallel + share * free) throw refuse('engine_share_full', { own })
}
