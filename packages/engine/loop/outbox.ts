import type { GenerationEvent } from '../backend.ts'
import type { Load } from '../protocol.ts'

export interface Listener {
  /** The events of one batch; none when only the load has changed. */
  happened(events: [id: number, event: GenerationEvent][]): void
  /** With a refusal or an unexpected error. */
  refused(id: number, reason: unknown): void
}

/**
 * The time between two frames of a screen: steps closer together are not visible. Meanwhile the tokens of a fast model
 * are sent together, because each message costs both processes half a millisecond that the model could use.
 */
const flushMs = 16

export type Outbox = ReturnType<typeof createOutbox>

/** Events that have not been sent yet. */
export function createOutbox(listener: Listener, load: () => Pick<Load, 'running' | 'waiting'>) {
  let events: [number, GenerationEvent][] = []
  let reported = { running: 0, waiting: 0 }
  let flushed = 0
  let isUrgent = false

  function flush(): void {
    flushed = performance.now()
    isUrgent = false
    const { running, waiting } = load()
    const hasChanged = running !== reported.running || waiting !== reported.waiting
    if (events.length === 0 && !hasChanged) return
    reported = { running, waiting }
    listener.happened(events)
    events = []
  }

  return {
    put(id: number, event: GenerationEvent): void {
      events.push([id, event])
    },
    /** A choice has begun or ended: that is sent at once. */
    hurry(): void {
      isUrgent = true
    },
    isDue: (now: number) => isUrgent || now - flushed >= flushMs,
    flush,
    /** Sent after all earlier events of the request. */
    refuse(id: number, reason: unknown): void {
      flush()
      listener.refused(id, reason)
    },
  }
}
