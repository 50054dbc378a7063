/** What was spent of so much a minute, as of a time in milliseconds. It comes back evenly, so there is no minute to wait for. */
export interface Spending {
  amount: number
  perMinute: number
  at: number
}

const minute = 60_000

export function startSpending(now: number): Spending {
  return { amount: 0, perMinute: 0, at: now }
}

/** What is still spent now. */
export function settle(spending: Spending, perMinute: number, now: number): number {
  // What was spent of a larger sum must not weigh for hours on a smaller one.
  if (spending.perMinute !== perMinute) spending.amount = Math.min(spending.amount, perMinute)
  const left = spending.amount - ((now - spending.at) * perMinute) / minute
  // Parts of a millionth are errors of the arithmetic: with them, the wait that was told would be too short.
  spending.amount = Math.max(0, Math.round(left * 1e6) / 1e6)
  spending.perMinute = perMinute
  spending.at = now
  return spending.amount
}

/** How long it takes until no more than `most` of what is spent now is left. */
export function untilBelow(amount: number, most: number, perMinute: number): number {
  return Math.max(0, ((amount - most) * minute) / perMinute)
}
