import {
  type Automaton,
  difference,
  type Edge,
  intersection,
  smallest as smallestAutomaton,
  trimmed,
} from '../automaton/automaton.ts'
import { automatonOf } from '../automaton/determinise.ts'
import type { Budget } from '../grammar/budget.ts'
import {
  alternatives,
  charClass,
  type Expr,
  literal,
  optional as perhaps,
  repetition,
  sequence,
} from '../grammar/expressions.ts'
import { compareDecimals, type Decimal, negated, roundedUp, zero } from './decimals.ts'
import { type NumberDemands, type Range, ranges, rangeText } from './number-ranges.ts'
import { digit, digits, fractionDigits, integerBetween, plainBetween } from './plain-decimals.ts'

/** Digits of a number that must be a multiple. There are fewer, because each state also carries a remainder. */
const multipleDigits = 15

export function multiples(demands: NumberDemands, bounded: boolean, budget: Budget): Automaton {
  const { integer, steps, avoided } = demands
  // If steps are avoided, numbers get no more decimal places than these steps have.
  const most = Math.max(...steps.map(({ scale }) => scale), 0)
  const decimals = integer
    ? 0
    : avoided.reduce((least, { scale }) => Math.min(least, scale), steps.length > 0 ? most : Infinity)
  const text = bounded
    ? alternatives(...ranges(demands).map((range) => clippedText(range, integer, decimals)))
    : sequence(
        perhaps(literal('-')),
        integerBetween(0n, 10n ** BigInt(multipleDigits) - 1n),
        decimals === 0 ? sequence() : perhaps(sequence(literal('.'), digits(1, decimals))),
      )
  let automaton = automatonOf(text, budget)
  for (const step of steps) automaton = intersection(automaton, multiplesOf(step, budget), budget)
  for (const step of avoided) {
    const multiple = automatonOf(literal('-0'), budget)
    automaton = difference(difference(automaton, multiplesOf(step, budget), budget), multiple, budget)
  }
  return automaton
}

function clippedText({ least, most }: Range, integer: boolean, decimals: number): Expr {
  const far: Decimal = { units: 10n ** BigInt(multipleDigits) - 1n, scale: 0 }
  const clipped = {
    least: roundedUp(least ?? smaller(negated(far), most), decimals),
    most: negated(roundedUp(negated(most ?? larger(far, least)), decimals)),
  }
  if (compareDecimals(clipped.least, clipped.most) > 0) return alternatives()
  if (integer) return rangeText(clipped, true, 0)
  const from = compareDecimals(clipped.least, zero)
  const to = compareDecimals(clipped.most, zero)
  const ways: Expr[] = []
  if (to >= 0) ways.push(plainBetween(from > 0 ? clipped.least : zero, clipped.most, decimals))
  if (from < 0) {
    const end = to < 0 ? negated(clipped.most) : zero
    ways.push(sequence(literal('-'), plainBetween(end, negated(clipped.least), decimals)))
  }
  return alternatives(...ways)
}

function smaller(value: Decimal, other: Decimal | undefined): Decimal {
  return other !== undefined && compareDecimals(other, value) < 0
    ? { ...other, units: other.units * 2n }
    : value
}

function larger(value: Decimal, other: Decimal | undefined): Decimal {
  return other !== undefined && compareDecimals(other, value) > 0
    ? { ...other, units: other.units * 2n }
    : value
}

/** A larger step would need more states than a grammar may have. Powers of ten need none. */
const largestStep = 1000n

/** Whether a grammar of reasonable size can express the multiples of the step. */
export function isSupportedStep({ units, scale }: Decimal): boolean {
  const size = units * BigInt(scale + 1)
  return units > 0n && scale <= fractionDigits && (size <= largestStep || isPowerOfTen(units))
}

function isPowerOfTen(units: bigint): boolean {
  return /^10*$/.test(units.toString())
}

/** The texts of multiples. A state is the remainder of the digits so far and how many of them were after the point. */
function multiplesOf({ units, scale }: Decimal, budget: Budget): Automaton {
  if (scale === 0 && isPowerOfTen(units)) {
    const zeros = units.toString().length - 1
    const core = sequence(
      charClass([0x31, 0x39]),
      repetition(digit, 0),
      repetition(literal('0'), zeros, zeros),
    )
    return automatonOf(alternatives(literal('0'), sequence(perhaps(literal('-')), core)), budget)
  }
  const step = Number(units)
  // State 0 is the start, state 1 is after the minus. Then come the remainders for each decimal place; each place but the
  // first has a point before it.
  const state = (digit: number, rest: number) => 2 + digit * step + rest
  const edges: Edge[][] = []
  const accepting: boolean[] = []
  const reading = (digit: number, rest: number): Edge[] =>
    Array.from({ length: 10 }, (_, value) => ({
      from: 0x30 + value,
      to: 0x30 + value,
      target: state(digit, (rest * 10 + value) % step),
    }))
  const put = (number: number, out: Edge[], accepted: boolean): void => {
    budget.spend(1 + out.length)
    edges[number] = out
    accepting[number] = accepted
  }
  put(0, [{ from: 0x2d, to: 0x2d, target: 1 }, ...reading(0, 0)], false)
  put(1, reading(0, 0), false)
  // The states after the point come last and are not accepting, so that a text cannot end with a point.
  const point = (rest: number) => 2 + (scale + 1) * step + rest
  for (let digit = 0; digit <= scale; digit++) {
    for (let rest = 0; rest < step; rest++) {
      const missing = Array.from({ length: scale - digit }).reduce<number>((at) => (at * 10) % step, rest)
      const further = digit === 0 ? reading(0, rest) : digit < scale ? reading(digit + 1, rest) : []
      const fraction = digit === 0 && scale > 0 ? [{ from: 0x2e, to: 0x2e, target: point(rest) }] : []
      put(state(digit, rest), [...fraction, ...further], missing === 0)
    }
  }
  if (scale > 0) for (let rest = 0; rest < step; rest++) put(point(rest), reading(1, rest), false)
  return smallestAutomaton(trimmed(edges, accepting), budget)
}
