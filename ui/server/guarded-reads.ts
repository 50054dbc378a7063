import { signal } from '@preact/signals'

/** The reads of a list until it is closed: what fails before that is its error. */
export function guardedReads() {
  const error = signal<Error | undefined>(undefined)
  const closing = new AbortController()
  const { signal: closed } = closing
  const fail = (reason: unknown) => {
    if (!closed.aborted) error.value = reason as Error
  }
  return { error, closing, closed, fail, guarded: (read: () => Promise<void>) => read().catch(fail) }
}
