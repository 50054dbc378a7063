/** How long a piece of work may hold the loop before others go first. */
const sliceMs = 3

export type Breathe = () => Promise<void> | undefined

/** For work in many small steps: await what it answers between them, and nobody else waits long. */
export function createBreathing(): Breathe {
  let since = performance.now()
  return () => {
    if (performance.now() - since < sliceMs) return undefined
    return new Promise((resolve) => {
      setImmediate(() => {
        since = performance.now()
        resolve()
      })
    })
  }
}
