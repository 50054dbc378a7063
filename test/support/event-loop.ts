import type { TestContext } from 'node:test'

/** Makes a clock that is late whenever it is read, so that work in steps yields after each of them. */
export function yieldAtEachStep(t: TestContext): void {
  let time = 0
  t.mock.method(performance, 'now', () => {
    time += 10
    return time
  })
}

/** How many turns of the event loop passed until the work was done. */
export async function loopTurnsUntil(work: Promise<unknown>): Promise<number> {
  let done = false
  const end = () => {
    done = true
  }
  work.then(end, end)
  let turns = 0
  while (!done) {
    await new Promise((resolve) => setImmediate(resolve))
    turns++
  }
  return turns
}
