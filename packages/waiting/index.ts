/** Waiting that ends with its signal, and long work that lets others run: see README.md. */

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

/** How long a piece of work may occupy the event loop before others run. */
const sliceMs = 1

export type YieldToLoop = () => Promise<void> | undefined

/**
 * One waiting piece of work continues in each turn of the loop, so that what arrives waits for one of them and not for
 * all.
 */
function createLoopQueue(): (resume: () => void) => void {
  const waiting: (() => void)[] = []
  function next(): void {
    waiting.shift()?.()
    if (waiting.length > 0) setImmediate(next)
  }
  return (resume) => {
    if (waiting.length === 0) setImmediate(next)
    waiting.push(resume)
  }
}

const waitForSlice = createLoopQueue()
const waitForPiece = createLoopQueue()

/**
 * For work in many small steps: await the result between steps, and the event loop is never blocked for long. Rejects
 * with the reason of the signal once the work is no longer needed.
 */
export function createYieldToLoop(signal?: AbortSignal): YieldToLoop {
  let since = performance.now()
  return () => {
    if (performance.now() - since < sliceMs) return undefined
    return new Promise((resolve, reject) => {
      waitForSlice(() => {
        if (signal?.aborted) reject(signal.reason)
        since = performance.now()
        resolve()
      })
    })
  }
}

/**
 * For work in pieces that each take far less than a slice, such as files. Resolves when it is the turn of this piece.
 */
export function yieldBetweenPieces(): Promise<void> {
  return new Promise(waitForPiece)
}

/** Runs a step for each item, and yields to the event loop between them. */
export async function inSteps<Item>(
  items: Iterable<Item>,
  step: (item: Item, index: number) => Promise<void> | void,
  yieldToLoop: YieldToLoop = createYieldToLoop(),
): Promise<void> {
  let index = 0
  for (const item of items) {
    const done = step(item, index++)
    if (done) await done
    const pause = yieldToLoop()
    if (pause) await pause
  }
}
