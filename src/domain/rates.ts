/**
 * What was spent of an allowance per minute, as of a time in milliseconds. It is refilled evenly, so there is no minute
 * boundary to wait for.
 */
export interface Spending {
  amount: number
  perMinute: number
  at: number
}

const minute = 60_000

export function startSpending(now: number): Spending {
  return { amount: 0, perMinute: 0, at: now }
}

/** What still counts as spent now. */
export function currentlySpent(spending: Spending, perMinute: number, now: number): number {
  // An amount spent of a larger allowance must not weigh for hours on a smaller one.
  if (spending.perMinute !== perMinute) spending.amount = Math.min(spending.amount, perMinute)
  const left = spending.amount - ((now - spending.at) * perMinute) / minute
  // Anything below a millionth is rounding error; with it, the wait that is reported would be too short.
  spending.amount = Math.max(0, Math.round(left * 1e6) / 1e6)
  spending.perMinute = perMinute
  spending.at = now
  return spending.amount
}

/** The time until at most `most` of the spent amount is left. */
export function timeUntilBelow(amount: number, most: number, perMinute: number): number {
  return Math.max(0, ((amount - most) * minute) / perMinute)
}
