import { whenAborted } from '../../domain/aborting.ts'
import { type Refusal, refuse } from '../../domain/refusals.ts'
import type { Hold, Loaded, Requester, ResidentEntry, ResidentState, Waiter } from './resident.ts'

/** Notes a new user of it. `freed` is called when it has none any more. */
export function addHold<Thing>(one: ResidentEntry<Thing>, asker: Requester, freed: () => void): Hold<Thing> {
  const { thing } = one.loaded as Loaded<Thing>
  const hold = { asker, ...(asker.isBackground && { giveBack: new AbortController() }) }
  const touch = () => {
    if (!asker.isBackground) one.lastAsked = performance.now()
  }
  one.holds.add(hold)
  touch()
  return {
    thing,
    ...(hold.giveBack && { signal: hold.giveBack.signal }),
    release() {
      if (!one.holds.delete(hold)) return
      touch()
      if (one.holds.size === 0) freed()
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
  one: ResidentEntry<Thing>,
  asker: Requester,
  signal: AbortSignal,
  { take, left }: { take: () => Hold<Thing>; left: () => void },
): Promise<Hold<Thing>> {
  const { promise, resolve, reject } = Promise.withResolvers<Hold<Thing>>()
  const stay = whenAborted(signal, () => {
    one.waiters = one.waiters.filter((other) => other !== waiter)
    reject(signal.reason)
    left()
  })
  const waiter: Waiter = {
    asker,
    grant() {
      stay()
      resolve(take())
    },
    fail(error) {
      stay()
      reject(error)
    },
  }
  one.waiters.push(waiter)
  return promise
}

export function grantWaiters(one: ResidentEntry<unknown>): void {
  for (const waiter of one.waiters.splice(0)) waiter.grant()
}

export function failWaiters(one: ResidentEntry<unknown>, why: () => Refusal): void {
  for (const waiter of one.waiters.splice(0)) waiter.fail(why())
}

/** Whether one more request may wait: a tenant gets at most seven eighths of the queue. */
export function checkWaiting(
  all: Iterable<ResidentEntry<unknown>>,
  queue: number,
  { tenant }: Requester,
): void {
  const waiting = [...all].flatMap(({ waiters }) => waiters)
  if (waiting.length >= queue) throw refuse('engine_queue_full', { limit: queue })
  const own = waiting.filter((one) => one.asker.tenant === tenant).length
  if (own >= Math.max(1, Math.ceil((queue * 7) / 8))) throw refuse('engine_share_full', { own })
}

export function stateOf<Thing>(one: ResidentEntry<Thing>): ResidentState<Thing> {
  if (one.phase === 'in' && one.loaded !== undefined) return { at: 'in', thing: one.loaded.thing }
  if (one.phase === 'loading') return { at: 'loading' }
  if (one.waiters.length > 0) return { at: 'waiting' }
  if (one.failure !== undefined) return { at: 'failed', reason: one.failure.reason }
  return { at: 'out' }
}
