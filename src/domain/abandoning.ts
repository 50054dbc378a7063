const listener = Symbol('listener')

type Abandoned = AbortSignal & { [listener]?: (reason: Error) => void }

/**
 * An abort signal tells work that its reader has left. This is the other direction: work that has waited too long for
 * its reader reports that it stops, because the reader may never ask again.
 */
export function onAbandoned(signal: AbortSignal, call: (reason: Error) => void): void {
  const abandoned: Abandoned = signal
  abandoned[listener] = call
}

export function abandon(signal: AbortSignal, reason: Error): void {
  const abandoned: Abandoned = signal
  abandoned[listener]?.(reason)
}
