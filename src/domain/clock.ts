/**
 * The servers on one record compare times that other servers wrote: leases, expiry, what counts as abandoned. So they
 * all use the clock of the database, whatever their own clocks show.
 */
interface ClockComparison {
  /** Milliseconds by which the clock of the record is ahead of ours. */
  ahead: number
  /** Our clock, and the monotonic clock, at that moment. */
  wall: number
  steady: number
}

/** Clocks that differ by no more than this are treated as equal. */
const toleranceMs = 100
/**
 * The most that the wall clock and the monotonic clock drift apart between two comparisons, unless the wall clock is
 * set.
 */
const driftMs = 1_000

let last: ClockComparison | undefined

/** Milliseconds since 1970, by the clock of the record. */
export function clockNow(): number {
  const wall = Date.now()
  if (last === undefined) return wall
  const steady = last.wall + performance.now() - last.steady
  // After the wall clock was set it is not trusted until it is compared again.
  const own = Math.abs(wall - steady) > driftMs ? Math.floor(steady) : wall
  return own + last.ahead
}

/** The clock of the record showed `at` at some time between two moments of `performance.now()`. */
export function compareClocks(at: number, asked: number, answered: number): void {
  const wall = Date.now()
  const steady = performance.now()
  const least = at + steady - answered - wall - toleranceMs
  const most = at + steady - asked - wall + toleranceMs
  const fits = (ahead: number) => ahead >= least && ahead <= most
  // A slow answer is imprecise: an offset that may still be right is kept.
  const ahead = [0, last?.ahead ?? 0].find(fits) ?? Math.round((least + most) / 2)
  last = { ahead, wall, steady }
}
