/** How long a piece of work may hold the event loop before others run. */
const sliceMs = 1

export type YieldToLoop = () => Promise<void> | undefined

/** One of those that wait goes on in each turn of the loop: what arrives waits for one of them, and not for as many as there are. */
function createTurns(): (goOn: () => void) => void {
  const waiting: (() => void)[] = []
  function next(): void {
    waiting.shift()?.()
    if (waiting.length > 0) setImmediate(next)
  }
  return (goOn) => {
    if (waiting.length === 0) setImmediate(next)
    waiting.push(goOn)
  }
}

const waitForSlice = createTurns()
const waitForPiece = createTurns()

/**
 * For work in many small steps. Await the result between steps, and the event loop is never blocked for long. Rejects with
 * the reason of the signal once nobody needs the work any more.
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

/** For work that comes in pieces, each of far less than a slice, such as files: resolves when it is the turn of this one. */
export function turnOfPiece(): Promise<void> {
  return new Promise(waitForPiece)
}

/** Takes a step for each item, and yields to the event loop between them. */
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
