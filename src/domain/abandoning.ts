const listeners = new WeakMap<AbortSignal, (reason: Error) => void>()

/**
 * An abort signal tells work that its reader has left. This is the other direction: work that has waited too long for
 * its reader reports that it stops, because the reader may never ask again.
 */
export function onAbandoned(signal: AbortSignal, call: (reason: Error) => void): void {
  listeners.set(signal, call)
}

export function abandon(signal: AbortSignal, reason: Error): void {
  listeners.get(signal)?.(reason)
}
