import { now } from './time.ts'

/** A clock that was set back is followed, once it is further back than what a busy second may have run ahead. */
const ahead = 1_000_000

let last = 0

/** Now, in microseconds, and later than the moment before: what happens within one tick of the clock keeps its order. */
export function monotonicNow(): number {
  const time = now()
  last = time > last || time < last - ahead ? time : last + 1
  return last
}
