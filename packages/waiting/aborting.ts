/**
 * Calls `run` once when the signal aborts, or right after the current step if it has aborted already: never before this
 * returns. The returned function ends the wait.
 */
export function whenAborted(signal: AbortSignal, run: () => void): () => void {
  let isOver = false
  const end = () => {
    isOver = true
    signal.removeEventListener('abort', once)
  }
  const once = () => {
    if (isOver) return
    end()
    run()
  }
  if (signal.aborted) queueMicrotask(once)
  else signal.addEventListener('abort', once)
  return end
}
