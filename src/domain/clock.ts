/**
 * The servers on one record compare times that others of them wrote: leases, expiry, what counts as abandoned. So they go by the
 * clock of its database, whatever their own says.
 */
interface Look {
  /** Milliseconds that the clock of the record is ahead of ours. */
  ahead: number
  /** Ours, and the one that nobody sets, at that moment. */
  wall: number
  steady: number
}

/** Of clocks that are no further apart neither is better than the other. */
const sameMs = 100
/** How far the two clocks of a machine part between two looks, unless somebody sets one. */
const driftMs = 1_000

let last: Look | undefined

/** Milliseconds since 1970, by the clock of the record. */
export function clockNow(): number {
  const wall = Date.now()
  if (last === undefined) return wall
  const steady = last.wall + performance.now() - last.steady
  // A clock that was set says nothing until it is compared again.
  const own = Math.abs(wall - steady) > driftMs ? Math.floor(steady) : wall
  return own + last.ahead
}

/** The clock of the record said `at` some time between two moments of `performance.now()`. */
export function compareClocks(at: number, asked: number, answered: number): void {
  const wall = Date.now()
  const steady = performance.now()
  const least = at + steady - answered - wall - sameMs
  const most = at + steady - asked - wall + sameMs
  const fits = (ahead: number) => ahead >= least && ahead <= most
  // A slow answer says little: what may be right stays.
  const ahead = [0, last?.ahead ?? 0].find(fits) ?? Math.round((least + most) / 2)
  last = { ahead, wall, steady }
}
