import { type Refusal, refuse } from '../../domain/refusals.ts'
import { notReady } from '../served-model.ts'
import { chooseEvictions, fewestEvictions, fits, memoryUsedBy } from './evictions.ts'
import {
  abortBackground,
  addHold,
  checkWaiting,
  failWaiters,
  grantWaiters,
  stateOf,
  waitUntilLoaded,
} from './holds.ts'
import { createLoader, type LoaderEvents, type LoaderOptions } from './loader.ts'
import type { Hold, Loadable, MemoryUse, Requester, Resident, ResidentEntry } from './resident.ts'

export interface RoomOptions extends LoaderOptions {
  /** Requests that may wait for a model to be loaded; a tenant gets at most seven eighths. */
  queue: number
  /** If callers have not used it for this long, background work may take its memory. */
  forgottenMs?: number
}

export type Room<Thing> = ReturnType<typeof createRoom<Thing>>

/**
 * Memory shared by several things that do not all fit. Requests for one that is not loaded wait in the order of
 * arrival; the least recently used one makes room as soon as it is not in use. If all loaded ones are used all the
 * time, the oldest of them accepts no new users until it is free. So everything is loaded at some time, and no use is
 * cut short.
 */
export function createRoom<Thing>(options: RoomOptions, events: LoaderEvents) {
  const { bound, queue: maxWaiting, forgottenMs = 60_000 } = options
  const all = new Set<ResidentEntry<Thing>>()
  /** Those that are to be loaded, in the order of the requests. */
  const queue = new Set<ResidentEntry<Thing>>()
  /** These accept no new users until the first one in `queue` is loaded. */
  let yielding = new Set<ResidentEntry<Thing>>()
  let alarm: NodeJS.Timeout | undefined
  /** One after the other, so that each sees the memory that the previous one has left. */
  let preloading: Promise<void> = Promise.resolve()
  let isClosed = false
  const loader = createLoader(options, events, { all, queue, changed: advance })

  const now = () => performance.now()

  /** Does whatever can be done now. Called after each change. */
  function advance(): void {
    clearTimeout(alarm)
    yielding = new Set()
    if (isClosed) return
    for (const entry of queue) if (!isSettled(entry)) return
  }

  /** Whether the first entry of the queue has left it; otherwise it waits for something, or for room. */
  function isSettled(entry: ResidentEntry<Thing>): boolean {
    const { phase, load, waiters } = entry
    if (waiters.length === 0 || phase === 'in' || phase === 'loading') {
      queue.delete(entry)
      if (phase === 'in') grantWaiters(entry)
      return true
    }
    if (phase === 'leaving' || phase === 'planning') return false
    if (load === undefined) {
      loader.plan(entry)
      return false
    }
    if (!fits(all, bound, load.need)) {
      makeRoom(load.need)
      return false
    }
    queue.delete(entry)
    loader.load(entry, load)
    return true
  }

  function makeRoom(need: MemoryUse): void {
    for (const { by, entry } of chooseEvictions(all, bound, need, now())) {
      if (by === 'cancelling') entry.cancel?.abort(new Error('others need its memory'))
      else if (by === 'closing') loader.closeSoon(entry)
      else if (by === 'staying') {
        clearTimeout(alarm)
        alarm = setTimeout(advance, entry.staysUntil - now()).unref()
      } else {
        yielding.add(entry)
        if (by === 'giving back') abortBackground(entry)
      }
    }
  }

  function take(entry: ResidentEntry<Thing>, requester: Requester): Hold<Thing> {
    return addHold(entry, requester, () => {
      loader.leaveIfUnused(entry)
      if (queue.size > 0) advance()
    })
  }

  /** Background work is admitted when no caller waits, into memory that callers have not used for a while. */
  async function checkBackground(entry: ResidentEntry<Thing>): Promise<void> {
    const inUse = () =>
      refuse('model_not_ready', { why: 'it is not loaded, and callers are using the memory' })
    if (queue.size > 0) throw inUse()
    if (entry.phase !== 'out') return
    const { need } = await entry.plan().catch((error: unknown) => {
      loader.noteFailure(entry, error)
      throw notReady({ state: 'failed', reason: entry.failure?.reason ?? '' })
    })
    const forgotten = [...all].filter(
      ({ phase, holds, lastAsked }) => phase === 'in' && holds.size === 0 && now() - lastAsked > forgottenMs,
    )
    if (fewestEvictions(all, bound, need, forgotten) === undefined) throw inUse()
  }

  async function hold(
    entry: ResidentEntry<Thing>,
    requester: Requester,
    signal: AbortSignal,
  ): Promise<Hold<Thing>> {
    signal.throwIfAborted()
    if (isClosed) throw refuse('stopping')
    if (entry.isRetired) throw replaced()
    if (entry.phase === 'in' && !yielding.has(entry)) return take(entry, requester)
    if (entry.failure !== undefined && entry.failure.until > now()) {
      throw notReady({ state: 'failed', reason: entry.failure.reason })
    }
    if (requester.isBackground) await checkBackground(entry)
    checkWaiting(all, maxWaiting, requester)
    signal.throwIfAborted()
    const held = waitUntilLoaded(entry, requester, signal, {
      take: () => take(entry, requester),
      left: () => {
        if (entry.waiters.length === 0) advance()
      },
    })
    if (entry.phase !== 'loading') queue.add(entry)
    advance()
    return held
  }

  function residentOf(entry: ResidentEntry<Thing>): Resident<Thing> {
    return {
      hold: (requester, signal) => hold(entry, requester, signal),
      preload(signal) {
        const requester = { tenant: '', isBackground: true }
        const preload = preloading.then(() => hold(entry, requester, signal)).then(({ release }) => release())
        preloading = preload.catch(() => undefined)
        return preload
      },
      get state() {
        return stateOf(entry)
      },
      retire() {
        entry.isRetired = true
        failWaiters(entry, replaced)
        loader.leaveIfUnused(entry)
        advance()
        return entry.gone.promise
      },
    }
  }

  return {
    bound,
    get used() {
      return memoryUsedBy(all)
    },
    add(name: string, plan: () => Promise<Loadable<Thing>>): Resident<Thing> {
      const entry: ResidentEntry<Thing> = {
        ...{ name, plan, phase: 'out', waiters: [], holds: new Set(), lastAsked: 0, staysUntil: 0 },
        isRetired: false,
        work: Promise.resolve(),
        gone: Promise.withResolvers(),
      }
      all.add(entry)
      return residentOf(entry)
    },
    async close(): Promise<void> {
      isClosed = true
      clearTimeout(alarm)
      for (const entry of all) {
        failWaiters(entry, () => refuse('stopping'))
        entry.cancel?.abort(new Error('the server is stopping'))
      }
      await Promise.all([...all].map(({ work }) => work))
      await Promise.all([...all].map(({ loaded }) => loaded?.close()))
      for (const { gone } of all) gone.resolve()
    },
  }
}

const replaced = (): Refusal =>
  refuse('model_not_ready', { why: 'the list of models was changed; ask again' })
