const listeners = new WeakMap<AbortSignal, (reason: Error) => void>()

/**
 * A signal tells work that nobody waits for it any more. This is the way back: work that waited too long for whoever
 * should take its results tells so, because nobody may ever ask it again.
 */
export function onGivenUp(signal: AbortSignal, call: (reason: Error) => void): void {
  listeners.set(signal, call)
}

export function giveUp(signal: AbortSignal, reason: Error): void {
  listeners.get(signal)?.(reason)
}
