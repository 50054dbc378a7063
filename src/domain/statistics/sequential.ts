import type { Bounds } from './intervals.ts'

/**
 * A test of wins and losses that may be looked at after each of them. The wager is a mixture of all win rates, equally
 * weighted, against one rate p; its value after w wins and l losses is B(w + 1, l + 1) / (p^w (1 - p)^l), and its chance to
 * ever reach 1 / α, if p is true, is at most α (Ville 1939; Robbins 1970, "Statistical methods related to the law of the
 * iterated logarithm"). The rates that it has not refuted are a confidence sequence (Howard, Ramdas, McAuliffe and Sekhon
 * 2021, "Time-uniform, nonparametric, nonasymptotic confidence sequences").
 */
const level = 0.95

/** The logarithm of what the wager is worth against a win rate. */
export function logWager(wins: number, losses: number, rate: number): number {
  const mixture = logFactorial(wins) + logFactorial(losses) - logFactorial(wins + losses + 1)
  return mixture - logPower(rate, wins) - logPower(1 - rate, losses)
}

const logPower = (base: number, exponent: number) => (exponent === 0 ? 0 : exponent * Math.log(base))

/** The win rates that are not refuted; all of them before anything was counted. */
export function winRates(wins: number, losses: number): Bounds {
  const limit = -Math.log(1 - level)
  const rate = wins + losses === 0 ? 0.5 : wins / (wins + losses)
  const isRefuted = (other: number) => logWager(wins, losses, other) >= limit
  return {
    low: wins === 0 ? 0 : edge(0, rate, isRefuted),
    high: losses === 0 ? 1 : edge(1, rate, isRefuted),
  }
}

/** Between a rate that is refuted and one that is not. */
function edge(refuted: number, held: number, isRefuted: (rate: number) => boolean): number {
  let [outer, inner] = [refuted, held]
  for (let step = 0; step < 50; step++) {
    const middle = (outer + inner) / 2
    if (isRefuted(middle)) outer = middle
    else inner = middle
  }
  return outer
}

/** By the series of Stirling, whose error is below 1e-10 from 10 on. */
function logFactorial(count: number): number {
  if (count < 10) {
    let product = 1
    for (let factor = 2; factor <= count; factor++) product *= factor
    return Math.log(product)
  }
  const rest = 1 / (12 * count) - 1 / (360 * count ** 3) + 1 / (1260 * count ** 5)
  return (count + 0.5) * Math.log(count) - count + 0.5 * Math.log(2 * Math.PI) + rest
}
