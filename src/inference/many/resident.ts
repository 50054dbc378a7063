import type { BackendStatus } from '../../../packages/engine/index.ts'

/** Bytes of the machine's memory and of its GPU's. */
export interface MemoryUse {
  machine: number
  device: number
}

/** Something that uses memory while it is loaded. */
export interface Loadable<Thing> {
  need: MemoryUse
  /** Rejects when it cannot be loaded. Ends early when the signal aborts. */
  open(signal: AbortSignal): Promise<Loaded<Thing>>
}

export interface Loaded<Thing> {
  thing: Thing
  /** Resolves with the reason if it ends for good without being closed. */
  lost: Promise<string>
  close(): Promise<void>
}

export interface Requester {
  tenant: string
  /** Nobody waits for it: it takes memory from no caller, and returns it when a caller needs it. */
  isBackground: boolean
}

/** A use of it, which keeps it loaded. */
export interface Hold<Thing> {
  thing: Thing
  /** Aborts when it must be released; only for background work. */
  signal?: AbortSignal
  release(): void
}

export interface Resident<Thing> {
  /** Uses it, loading it first if necessary. Waits for memory that others use. */
  hold(requester: Requester, signal: AbortSignal): Promise<Hold<Thing>>
  /** Loads it if there is enough unused memory. */
  preload(signal: AbortSignal): Promise<void>
  /** Its current state. */
  readonly state: ResidentState<Thing>
  /** Accepts no new users, waits for the present ones, and closes it. */
  retire(): Promise<void>
}

export type ResidentState<Thing> =
  | { at: 'out' | 'waiting' | 'loading' }
  | { at: 'in'; thing: Thing }
  | { at: 'failed'; reason: string }

/** A request that waits until it is loaded. */
export interface Waiter {
  requester: Requester
  grant(): void
  fail(error: unknown): void
}

/** What the room knows of a resident. */
export interface ResidentEntry<Thing> {
  name: string
  plan: () => Promise<Loadable<Thing>>
  phase: 'out' | 'planning' | 'loading' | 'in' | 'leaving'
  load?: Loadable<Thing> | undefined
  loaded?: Loaded<Thing> | undefined
  cancel?: AbortController | undefined
  waiters: Waiter[]
  holds: Set<{ requester: Requester; giveBack?: AbortController }>
  /** In the time of `performance.now()`. */
  lastAsked: number
  staysUntil: number
  failure?: { reason: string; attempts: number; until: number } | undefined
  isRetired: boolean
  /** Its loading or closing, while in progress. */
  work: Promise<void>
  gone: PromiseWithResolvers<void>
}

/** The status of a resident that is not loaded. */
export function statusOf({ at }: { at: 'out' | 'waiting' | 'loading' }): BackendStatus {
  if (at === 'out') return { state: 'unloaded' }
  const doing = at === 'waiting' ? 'waiting for the memory of another model' : 'loading the model'
  return { state: 'starting', doing }
}
