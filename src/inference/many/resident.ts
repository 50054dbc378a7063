import type { BackendStatus } from '../backend.ts'

/** Bytes of the machine and of its GPU. */
export interface Need {
  machine: number
  device: number
}

/** Something that takes memory while it is loaded. */
export interface Load<Thing> {
  need: Need
  /** Rejects when it cannot be loaded. Ends early when the signal aborts. */
  open(signal: AbortSignal): Promise<Loaded<Thing>>
}

export interface Loaded<Thing> {
  thing: Thing
  /** Resolves with the reason when it has ended for good, by no will of ours. */
  lost: Promise<string>
  close(): Promise<void>
}

export interface Asker {
  tenant: string
  /** Nobody waits for it: it takes the memory of no caller, and gives it back when a caller wants it. */
  isBackground: boolean
}

/** Somebody uses it, so it stays. */
export interface Hold<Thing> {
  thing: Thing
  /** Aborts when it has to be given back; of background work alone. */
  signal?: AbortSignal
  release(): void
}

export interface Resident<Thing> {
  /** The thing, which is loaded if it is not. Waits for memory where others use it. */
  hold(asker: Asker, signal: AbortSignal): Promise<Hold<Thing>>
  /** Loads it if there is memory that nobody uses. */
  preload(signal: AbortSignal): Promise<void>
  /** What is there of it. */
  readonly state: ResidentState<Thing>
  /** It takes nobody more, finishes what it does, and is closed. */
  retire(): Promise<void>
}

export type ResidentState<Thing> =
  | { at: 'out' | 'waiting' | 'loading' }
  | { at: 'in'; thing: Thing }
  | { at: 'failed'; reason: string }

/** Who waits until it is in. */
export interface Waiter {
  asker: Asker
  grant(): void
  fail(error: unknown): void
}

/** What the room knows of a resident. */
export interface Inside<Thing> {
  name: string
  plan: () => Promise<Load<Thing>>
  phase: 'out' | 'planning' | 'loading' | 'in' | 'leaving'
  load?: Load<Thing> | undefined
  loaded?: Loaded<Thing> | undefined
  cancel?: AbortController | undefined
  waiters: Waiter[]
  holds: Set<{ asker: Asker; giveBack?: AbortController }>
  /** As `performance.now()` counts. */
  lastAsked: number
  staysUntil: number
  failure?: { reason: string; attempts: number; until: number } | undefined
  isRetired: boolean
  /** Its loading or closing, while one goes on. */
  work: Promise<void>
  gone: PromiseWithResolvers<void>
}

/** What can be said of a resident without the thing itself. */
export function statusOf({ at }: { at: 'out' | 'waiting' | 'loading' }): BackendStatus {
  if (at === 'out') return { state: 'unloaded' }
  const doing = at === 'waiting' ? 'waiting for the memory of another model' : 'loading the model'
  return { state: 'starting', doing }
}
