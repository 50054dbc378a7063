import { type Refusal, refuse } from '../../domain/refusals.ts'
import { ModelError } from '../models/model-error.ts'
import { notReady } from '../served-model.ts'
import { checkBound, chooseEvictions, fewestEvictions, fits, memoryUsedBy } from './evictions.ts'
import {
  abortBackground,
  addHold,
  checkWaiting,
  failWaiters,
  grantWaiters,
  stateOf,
  waitUntilLoaded,
} from './holds.ts'
import type { Hold, Loadable, Loaded, MemoryUse, Requester, Resident, ResidentEntry } from './resident.ts'

export interface RoomOptions {
  bound: MemoryUse
  /** Requests that may wait for a model to be loaded; a tenant gets at most seven eighths. */
  queue: number
  /** The pause after a failed load. */
  pauseMs?: (attempts: number) => number
  /**
   * A busy model is not unloaded for another until it has been loaded for as long as its loading took, within these
   * limits.
   */
  stayMs?: { least: number; most: number }
  /** If callers have not used it for this long, background work may take its memory. */
  forgottenMs?: number
}

interface RoomEvents {
  loaded(name: string, ms: number): void
  unloaded(name: string): void
  failed(name: string, reason: string, againInMs: number): void
}

/** Half a minute at first, up to ten minutes. */
const usualPause = (attempts: number) => Math.min(600_000, 30_000 * 2 ** (attempts - 1))

/**
 * Memory shared by several things that do not all fit. Requests for one that is not loaded wait in the order of
 * arrival; the least recently used one makes room as soon as it is not in use. If all loaded ones are used all the
 * time, the oldest of them accepts no new users until it is free. So everything is loaded at some time, and no use is
 * cut short.
 */
export function createRoom<Thing>(
  {
    bound,
    queue,
    pauseMs = usualPause,
    stayMs = { least: 1_000, most: 60_000 },
    forgottenMs = 60_000,
  }: RoomOptions,
  events: RoomEvents,
) {
  const all = new Set<ResidentEntry<Thing>>()
  /** Those that are to be loaded, in the order of the requests. */
  const line: ResidentEntry<Thing>[] = []
  /** These accept no new users until the first one in `line` is loaded. */
  let yielding = new Set<ResidentEntry<Thing>>()
  let alarm: NodeJS.Timeout | undefined
  /** One after the other, so that each sees the memory that the previous one has left. */
  let preloading: Promise<void> = Promise.resolve()
  let isClosed = false

  const now = () => performance.now()

  /** Does whatever can be done now. Called after each change. */
  function move(): void {
    clearTimeout(alarm)
    yielding = new Set()
    if (isClosed) return
    for (let next = line[0]; next !== undefined; next = line[0]) {
      if (next.waiters.length === 0 || next.phase === 'in' || next.phase === 'loading') {
        line.shift()
        if (next.phase === 'in') grantWaiters(next)
        continue
      }
      if (next.phase === 'leaving' || next.phase === 'planning') return
      if (next.load === undefined) {
        next.work = planned(next)
        return
      }
      if (!fits(all, bound, next.load.need)) {
        makeRoom(next.load.need)
        return
      }
      line.shift()
      next.work = bring(next, next.load)
    }
  }

  async function planned(one: ResidentEntry<Thing>): Promise<void> {
    one.phase = 'planning'
    try {
      const load = await one.plan()
      one.phase = 'out'
      one.load = load
      checkBound(bound, load.need)
    } catch (error) {
      one.phase = 'out'
      failed(one, error)
    }
    leaveIfFree(one)
    move()
  }

  function makeRoom(need: MemoryUse): void {
    for (const { by, one } of chooseEvictions(all, bound, need, now())) {
      if (by === 'cancelling') one.cancel?.abort(new Error('others need its memory'))
      else if (by === 'closing') closeSoon(one)
      else if (by === 'staying') {
        clearTimeout(alarm)
        alarm = setTimeout(move, one.staysUntil - now()).unref()
      } else {
        yielding.add(one)
        if (by === 'giving back') abortBackground(one)
      }
    }
  }

  async function bring(one: ResidentEntry<Thing>, load: Loadable<Thing>): Promise<void> {
    one.phase = 'loading'
    one.cancel = new AbortController()
    const began = now()
    try {
      const loaded = await load.open(one.cancel.signal)
      if (one.cancel.signal.aborted) {
        one.loaded = loaded
        return await close(one)
      }
      one.loaded = loaded
      one.phase = 'in'
      one.failure = undefined
      const ms = now() - began
      one.staysUntil = now() + Math.min(stayMs.most, Math.max(stayMs.least, ms))
      one.lastAsked = now()
      events.loaded(one.name, ms)
      loaded.lost.then(
        (reason) => lost(one, loaded, reason),
        () => undefined,
      )
      grantWaiters(one)
    } catch (error) {
      one.phase = 'out'
      one.load = undefined
      if (!one.cancel.signal.aborted) failed(one, error)
      else if (one.waiters.length > 0 && !line.includes(one)) line.push(one)
    }
    if (one.isRetired) leaveIfFree(one)
    move()
  }

  /** It ended by itself, together with everything that used it. */
  function lost(one: ResidentEntry<Thing>, loaded: Loaded<Thing>, reason: string): void {
    if (one.loaded !== loaded || one.phase !== 'in') return
    failed(one, new ModelError(reason))
    closeSoon(one)
  }

  function failed(one: ResidentEntry<Thing>, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error)
    const attempts = (one.failure?.attempts ?? 0) + 1
    const pause = pauseMs(attempts)
    one.failure = { reason, attempts, until: now() + pause }
    one.load = undefined
    const at = line.indexOf(one)
    if (at >= 0) line.splice(at, 1)
    events.failed(one.name, reason, pause)
    failWaiters(one, () => notReady({ state: 'failed', reason }))
  }

  function closeSoon(one: ResidentEntry<Thing>): void {
    one.work = close(one)
  }

  async function close(one: ResidentEntry<Thing>): Promise<void> {
    const { loaded } = one
    one.phase = 'leaving'
    one.loaded = undefined
    await loaded?.close().catch(() => undefined)
    one.phase = 'out'
    one.load = undefined
    events.unloaded(one.name)
    if (one.waiters.length > 0 && !line.includes(one)) line.push(one)
    leaveIfFree(one)
    move()
  }

  function leaveIfFree(one: ResidentEntry<Thing>): void {
    if (!one.isRetired) return
    if (one.phase === 'in' && one.holds.size === 0) closeSoon(one)
    else if (one.phase === 'out') {
      all.delete(one)
      one.gone.resolve()
    }
  }

  function take(one: ResidentEntry<Thing>, asker: Requester): Hold<Thing> {
    return addHold(one, asker, () => {
      leaveIfFree(one)
      if (line.length > 0) move()
    })
  }

  /** Background work is admitted when no caller waits, into memory that callers have not used for a while. */
  async function checkBackground(one: ResidentEntry<Thing>): Promise<void> {
    const busy = () =>
      refuse('model_not_ready', { why: 'it is not loaded, and callers are using the memory' })
    if (line.length > 0) throw busy()
    if (one.phase !== 'out') return
    const { need } = await one.plan().catch((error: unknown) => {
      failed(one, error)
      throw notReady({ state: 'failed', reason: one.failure?.reason ?? '' })
    })
    const forgotten = [...all].filter(
      ({ phase, holds, lastAsked }) => phase === 'in' && holds.size === 0 && now() - lastAsked > forgottenMs,
    )
    if (fewestEvictions(all, bound, need, forgotten) === undefined) throw busy()
  }

  async function hold(
    one: ResidentEntry<Thing>,
    asker: Requester,
    signal: AbortSignal,
  ): Promise<Hold<Thing>> {
    signal.throwIfAborted()
    if (isClosed) throw refuse('stopping')
    if (one.isRetired) throw replaced()
    if (one.phase === 'in' && !yielding.has(one)) return take(one, asker)
    if (one.failure !== undefined && one.failure.until > now()) {
      throw notReady({ state: 'failed', reason: one.failure.reason })
    }
    if (asker.isBackground) await checkBackground(one)
    checkWaiting(all, queue, asker)
    signal.throwIfAborted()
    const held = waitUntilLoaded(one, asker, signal, {
      take: () => take(one, asker),
      left: () => {
        if (one.waiters.length === 0) move()
      },
    })
    if (!line.includes(one) && one.phase !== 'loading') line.push(one)
    move()
    return held
  }

  return {
    bound,
    get used() {
      return memoryUsedBy(all)
    },
    add(name: string, plan: () => Promise<Loadable<Thing>>): Resident<Thing> {
      const one: ResidentEntry<Thing> = {
        name,
        plan,
        phase: 'out',
        waiters: [],
        holds: new Set(),
        lastAsked: 0,
        staysUntil: 0,
        isRetired: false,
        work: Promise.resolve(),
        gone: Promise.withResolvers(),
      }
      all.add(one)
      return {
        hold: (asker, signal) => hold(one, asker, signal),
        preload(signal) {
          const asker = { tenant: '', isBackground: true }
          const preload = preloading.then(() => hold(one, asker, signal)).then(({ release }) => release())
          preloading = preload.catch(() => undefined)
          return preload
        },
        get state() {
          return stateOf(one)
        },
        retire() {
          one.isRetired = true
          failWaiters(one, replaced)
          leaveIfFree(one)
          move()
          return one.gone.promise
        },
      }
    },
    async close(): Promise<void> {
      isClosed = true
      clearTimeout(alarm)
      for (const one of all) {
        failWaiters(one, () => refuse('stopping'))
        one.cancel?.abort(new Error('the server is stopping'))
      }
      await Promise.all([...all].map(({ work }) => work))
      await Promise.all([...all].map(({ loaded }) => loaded?.close()))
    },
  }
}

export type Room<Thing> = ReturnType<typeof createRoom<Thing>>

const replaced = (): Refusal =>
  refuse('model_not_ready', { why: 'the list of models was changed; ask again' })
