import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { currentlySpent, type Spending, startSpending, timeUntilBelow } from '../domain/rates.ts'
import { refuse } from '../domain/refusals.ts'
import { maxEntries } from '../threads/cache-bounds.ts'
import { disconnectSignal } from './disconnect.ts'

/** Addresses that are remembered; an attacker with more of them gets enough guesses anyway. */
const maxAddresses = 10_000

/** Delayed answers at a time, so that guessing cannot tie up more than these. */
const maxDelayed = 64

const firstDelayMs = 100
const maxDelayMs = 2_000

/** How to answer a wrong key. */
type WrongKeyAnswer = { delayMs: number } | { retryAfterMs: number }

/**
 * Decides by origin how to answer wrong keys. The first third of a minute's allowance is answered at once, the rest
 * with growing delays, and anything beyond the allowance is refused.
 */
export function createWrongKeyThrottle(perMinute: number): (origin: string, now: number) => WrongKeyAnswer {
  const tries = new LRUCache<string, Spending>(maxEntries(maxAddresses))
  const atOnce = Math.ceil(perMinute / 3)
  return (origin, now) => {
    const spending = tries.get(origin) ?? startSpending(now)
    tries.set(origin, spending)
    const before = currentlySpent(spending, perMinute, now)
    if (before + 1 > perMinute) return { retryAfterMs: timeUntilBelow(before, perMinute - 1, perMinute) }
    spending.amount = before + 1
    const behind = Math.floor(spending.amount) - atOnce
    return { delayMs: behind <= 0 ? 0 : Math.min(maxDelayMs, firstDelayMs * 2 ** (behind - 1)) }
  }
}

/**
 * Delays the answers to wrong keys, and refuses them if there are too many. Right keys never get here: a client that
 * has one is served, whatever others send from the same address.
 */
export function limitWrongKeys(
  perMinute: number,
): (request: FastifyRequest, reply: FastifyReply, origin: string) => Promise<void> {
  const judge = createWrongKeyThrottle(perMinute)
  let delayed = 0
  return async (request, reply, origin) => {
    const verdict = judge(origin, performance.now())
    if ('retryAfterMs' in verdict || (verdict.delayMs > 0 && delayed >= maxDelayed)) {
      const ms = 'retryAfterMs' in verdict ? verdict.retryAfterMs : maxDelayMs
      throw refuse('too_many_wrong_keys', { seconds: Math.max(1, Math.ceil(ms / 1000)) })
    }
    if (verdict.delayMs === 0) return
    delayed++
    try {
      await delay(verdict.delayMs, undefined, { signal: disconnectSignal(reply) })
    } catch {
      request.log.debug('the client left before it was told that its key is wrong')
    } finally {
      delayed--
    }
  }
}
