import { ModelError } from '../../../packages/engine/index.ts'
import { notReady } from '../served-model.ts'
import { checkBound } from './evictions.ts'
import { failWaiters, grantWaiters } from './holds.ts'
import type { Loadable, Loaded, MemoryUse, ResidentEntry } from './resident.ts'

export interface LoaderOptions {
  bound: MemoryUse
  /** The pause after a failed load. */
  pauseMs?: (attempts: number) => number
  /**
   * A busy model is not unloaded for another until it has been loaded for as long as its loading took, within these
   * limits.
   */
  stayMs?: { min: number; max: number }
}

export interface LoaderEvents {
  loaded(name: string, ms: number): void
  unloaded(name: string): void
  failed(name: string, reason: string, againInMs: number): void
}

/** What the loader changes besides an entry. */
interface Surroundings<Thing> {
  all: Set<ResidentEntry<Thing>>
  /** Those that are to be loaded, in the order of the requests. */
  queue: Set<ResidentEntry<Thing>>
  /** Called after each change of an entry. */
  changed(): void
}

/** Half a minute at first, up to ten minutes. */
const usualPause = (attempts: number) => Math.min(600_000, 30_000 * 2 ** (attempts - 1))

/** The life of one entry: planned, loaded, and closed or lost. Whether it may be loaded is not decided here. */
export function createLoader<Thing>(
  { bound, pauseMs = usualPause, stayMs = { min: 1_000, max: 60_000 } }: LoaderOptions,
  events: LoaderEvents,
  { all, queue, changed }: Surroundings<Thing>,
) {
  /** Finds out how much memory it needs. */
  async function plan(entry: ResidentEntry<Thing>): Promise<void> {
    entry.phase = 'planning'
    try {
      const load = await entry.plan()
      entry.phase = 'out'
      entry.load = load
      checkBound(bound, load.need)
    } catch (error) {
      entry.phase = 'out'
      noteFailure(entry, error)
    }
    leaveIfUnused(entry)
    changed()
  }

  async function load(entry: ResidentEntry<Thing>, { open }: Loadable<Thing>): Promise<void> {
    const cancel = new AbortController()
    entry.phase = 'loading'
    entry.cancel = cancel
    const since = performance.now()
    try {
      entry.loaded = await open(cancel.signal)
      if (cancel.signal.aborted) return await close(entry)
      noteLoaded(entry, entry.loaded, performance.now() - since)
    } catch (error) {
      entry.phase = 'out'
      entry.load = undefined
      if (!cancel.signal.aborted) noteFailure(entry, error)
      else if (entry.waiters.length > 0) queue.add(entry)
    }
    if (entry.isRetired) leaveIfUnused(entry)
    changed()
  }

  function noteLoaded(entry: ResidentEntry<Thing>, loaded: Loaded<Thing>, ms: number): void {
    entry.phase = 'in'
    entry.failure = undefined
    entry.lastAsked = performance.now()
    entry.staysUntil = entry.lastAsked + Math.min(stayMs.max, Math.max(stayMs.min, ms))
    events.loaded(entry.name, ms)
    loaded.lost.then(
      (reason) => noteLost(entry, loaded, reason),
      () => undefined,
    )
    grantWaiters(entry)
  }

  /** It ended by itself, together with everything that used it. */
  function noteLost(entry: ResidentEntry<Thing>, loaded: Loaded<Thing>, reason: string): void {
    if (entry.loaded !== loaded || entry.phase !== 'in') return
    noteFailure(entry, new ModelError(reason))
    closeSoon(entry)
  }

  function noteFailure(entry: ResidentEntry<Thing>, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error)
    const attempts = (entry.failure?.attempts ?? 0) + 1
    const pause = pauseMs(attempts)
    entry.failure = { reason, attempts, until: performance.now() + pause }
    entry.load = undefined
    queue.delete(entry)
    events.failed(entry.name, reason, pause)
    failWaiters(entry, () => notReady({ state: 'failed', reason }))
  }

  function closeSoon(entry: ResidentEntry<Thing>): void {
    entry.work = close(entry)
  }

  async function close(entry: ResidentEntry<Thing>): Promise<void> {
    const { loaded } = entry
    entry.phase = 'leaving'
    entry.loaded = undefined
    await loaded?.close().catch(() => undefined)
    entry.phase = 'out'
    entry.load = undefined
    events.unloaded(entry.name)
    if (entry.waiters.length > 0) queue.add(entry)
    leaveIfUnused(entry)
    changed()
  }

  /** A retired entry is closed when nothing uses it any more, and then it is gone. */
  function leaveIfUnused(entry: ResidentEntry<Thing>): void {
    if (!entry.isRetired) return
    if (entry.phase === 'in' && entry.holds.size === 0) closeSoon(entry)
    else if (entry.phase === 'out') {
      all.delete(entry)
      entry.gone.resolve()
    }
  }

  return {
    plan(entry: ResidentEntry<Thing>): void {
      entry.work = plan(entry)
    },
    load(entry: ResidentEntry<Thing>, loadable: Loadable<Thing>): void {
      entry.work = load(entry, loadable)
    },
    closeSoon,
    noteFailure,
    leaveIfUnused,
  }
}
