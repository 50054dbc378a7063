import { whenAborted } from '../../../packages/waiting/index.ts'
import { type Refusal, refuse } from '../../domain/refusals.ts'
import type { Hold, Loaded, Requester, ResidentEntry, ResidentState, Waiter } from './resident.ts'

/** Notes a new user of it. `freed` is called when it has none any more. */
export function addHold<Thing>(
  entry: ResidentEntry<Thing>,
  requester: Requester,
  freed: () => void,
): Hold<Thing> {
  const { thing } = entry.loaded as Loaded<Thing>
  const hold = { requester, ...(requester.isBackground && { giveBack: new AbortController() }) }
  const touch = () => {
    if (!requester.isBackground) entry.lastAsked = performance.now()
  }
  entry.holds.add(hold)
  touch()
  return {
    thing,
    ...(hold.giveBack && { signal: hold.giveBack.signal }),
    release() {
      if (!entry.holds.delete(hold)) return
      touch()
      if (entry.holds.size === 0) freed()
    },
  }
}

/** Ends the background work that uses it. */
export function abortBackground({ holds }: ResidentEntry<unknown>): void {
  for (const { giveBack } of holds) {
    giveBack?.abort(refuse('model_not_ready', { why: 'callers need its memory' }))
  }
}

/** Waits until it is loaded. If the signal aborts before, the wait ends and `left` is called. */
export function waitUntilLoaded<Thing>(
  entry: ResidentEntry<Thing>,
  requester: Requester,
  signal: AbortSignal,
  { take, left }: { take: () => Hold<Thing>; left: () => void },
): Promise<Hold<Thing>> {
  const { promise, resolve, reject } = Promise.withResolvers<Hold<Thing>>()
  const stay = whenAborted(signal, () => {
    entry.waiters = entry.waiters.filter((other) => other !== waiter)
    reject(signal.reason)
    left()
  })
  const waiter: Waiter = {
    requester,
    grant() {
      stay()
      resolve(take())
    },
    fail(error) {
      stay()
      reject(error)
    },
  }
  entry.waiters.push(waiter)
  return promise
}

export function grantWaiters(entry: ResidentEntry<unknown>): void {
  for (const waiter of entry.waiters.splice(0)) waiter.grant()
}

export function failWaiters(entry: ResidentEntry<unknown>, why: () => Refusal): void {
  for (const waiter of entry.waiters.splice(0)) waiter.fail(why())
}

/** Whether one more request may wait: a tenant gets at most seven eighths of the queue. */
export function checkWaiting(
  all: Iterable<ResidentEntry<unknown>>,
  queue: number,
  { tenant }: Requester,
): void {
  const waiting = [...all].flatMap(({ waiters }) => waiters)
  if (waiting.length >= queue) throw refuse('engine_queue_full', { limit: queue })
  const own = waiting.filter((entry) => entry.requester.tenant === tenant).length
  if (own >= Math.max(1, Math.ceil((queue * 7) / 8))) throw refuse('engine_share_full', { own })
}

export function stateOf<Thing>(entry: ResidentEntry<Thing>): ResidentState<Thing> {
  if (entry.phase === 'in' && entry.loaded !== undefined) return { at: 'in', thing: entry.loaded.thing }
  if (entry.phase === 'loading') return { at: 'loading' }
  if (entry.waiters.length > 0) return { at: 'waiting' }
  if (entry.failure !== undefined) return { at: 'failed', reason: entry.failure.reason }
  return { at: 'out' }
}
