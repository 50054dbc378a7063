import {
  type Automaton,
  type Edge,
  intersection,
  smallest as smallestAutomaton,
  trimmed,
} from './automaton.ts'
import type { Budget } from './budget.ts'
import {
  beside,
  compareDecimals,
  type Decimal,
  digitsOf,
  floor,
  isInteger,
  negated,
  roundedUp,
  scientific,
  zero,
} from './decimals.ts'
import { automatonOf } from './determinise.ts'
import {
  alternatives,
  charClass,
  type Expr,
  literal,
  optional as perhaps,
  repetition,
  sequence,
} from './gbnf.ts'

export interface NumberDemands {
  integer: boolean
  least: Bound | undefined
  most: Bound | undefined
  steps: readonly Decimal[]
  excluded: readonly Decimal[]
  /** No whole numbers. */
  fractional: boolean
}

export interface Bound {
  value: Decimal
  exclusive: boolean
}

/** As many as the largest 64-bit integer has. */
const integerDigits = 19
/** A double below 1e21 is written without an exponent: with so many digits before the point … */
const wholeDigits = 21
/** … and behind it at most so many: five zeros and the seventeen digits of a double. */
const fractionDigits = 22
/** Beyond it a double would be infinite or zero, with any first digits. */
const lastExponent = 307

const digit = charClass([0x30, 0x39])
const digits = (min: number, max: number) => repetition(digit, min, max)

/**
 * The texts of the numbers that meet the demands. With bounds these are plain decimals and the exponents that doubles
 * are written with; without bounds any JSON number, with bounded digits. `write` turns an automaton into grammar.
 */
export function numberText(
  demands: NumberDemands,
  budget: Budget,
  write: (automaton: Automaton) => Expr,
): Expr {
  const { integer, least, most, steps, excluded } = demands
  const bounded = least !== undefined || most !== undefined || excluded.length > 0
  if (demands.fractional) {
    if (integer) return alternatives()
    const numbers =
      steps.length > 0
        ? multiples(demands, bounded, budget)
        : automatonOf(
            alternatives(...ranges(demands).map((range) => rangeText(range, false, fractionDigits))),
            budget,
          )
    return write(intersection(numbers, automatonOf(fractionalText, budget), budget))
  }
  if (steps.length > 0) return write(multiples(demands, bounded, budget))
  if (!bounded) return integer ? anyInteger : anyNumber
  return alternatives(...ranges(demands).map((range) => rangeText(range, integer, fractionDigits)))
}

const anyInteger = alternatives(
  literal('0'),
  sequence(perhaps(literal('-')), charClass([0x31, 0x39]), digits(0, integerDigits - 1)),
)

/** An exponent for up to 22 digits before the point would reach infinity, so with a large exponent there is one. */
const exponent = sequence(
  charClass([0x45, 0x45], [0x65, 0x65]),
  alternatives(
    sequence(perhaps(charClass([0x2b, 0x2b], [0x2d, 0x2d])), digits(1, 2)),
    sequence(literal('-'), charClass([0x31, 0x32]), digits(2, 2)),
  ),
)
const fraction = sequence(literal('.'), digits(1, fractionDigits))
const anyNumber = sequence(
  perhaps(literal('-')),
  alternatives(
    sequence(
      alternatives(literal('0'), sequence(charClass([0x31, 0x39]), digits(0, wholeDigits - 1))),
      perhaps(fraction),
      perhaps(exponent),
    ),
    sequence(charClass([0x31, 0x39]), perhaps(fraction), literal('e+'), threeDigitExponent()),
  ),
)

function threeDigitExponent(): Expr {
  return integerBetween(100n, BigInt(lastExponent))
}

/** Something behind the point that is not zero, or an exponent below zero, which is written only where there is no whole part. */
const someDigits = repetition(digit, 0)
const fractionalText = sequence(
  perhaps(literal('-')),
  alternatives(
    sequence(digit, someDigits, literal('.'), someDigits, charClass([0x31, 0x39]), someDigits),
    sequence(digit, perhaps(sequence(literal('.'), someDigits)), literal('e-'), someDigits),
  ),
)

interface Range {
  least: Decimal | undefined
  most: Decimal | undefined
}

/** The demanded range, cut at the values that are excluded; all ends belong to it. */
function ranges({ integer, least, most, excluded }: NumberDemands): Range[] {
  const inner = excluded
    .filter((value) => !integer || isInteger(value))
    .filter((value) => least === undefined || compareDecimals(value, least.value) >= 0)
    .filter((value) => most === undefined || compareDecimals(value, most.value) <= 0)
    .toSorted(compareDecimals)
    .map((value) => ({ value, exclusive: true }))
  const starts = [least, ...inner]
  const ends = [...inner, most]
  return starts.flatMap((start, i) => {
    const end = ends[i]
    const range = integer
      ? { least: firstInteger(start), most: lastInteger(end) }
      : { least: firstDecimal(start), most: lastDecimal(end) }
    const empty =
      range.least !== undefined && range.most !== undefined && compareDecimals(range.least, range.most) > 0
    return empty ? [] : [range]
  })
}

export function someNumber(demands: NumberDemands): boolean {
  if (demands.fractional && demands.integer) return false
  return ranges(demands).length > 0
}

function firstInteger(bound: Bound | undefined): Decimal | undefined {
  if (bound === undefined) return undefined
  const { value, exclusive } = bound
  const below = floor(value)
  return { units: isInteger(value) && !exclusive ? below : below + 1n, scale: 0 }
}

function lastInteger(bound: Bound | undefined): Decimal | undefined {
  if (bound === undefined) return undefined
  const first = firstInteger({ ...bound, value: negated(bound.value) })
  return first === undefined ? undefined : negated(first)
}

/** The smallest value above zero that is written out here. */
const smallest: Decimal = { units: 1n, scale: fractionDigits }

function firstDecimal(bound: Bound | undefined): Decimal | undefined {
  if (bound === undefined || !bound.exclusive) return bound?.value
  return compareDecimals(bound.value, zero) === 0 ? smallest : beside(bound.value, 1)
}

function lastDecimal(bound: Bound | undefined): Decimal | undefined {
  const first = bound === undefined ? undefined : firstDecimal({ ...bound, value: negated(bound.value) })
  return first === undefined ? undefined : negated(first)
}

function rangeText({ least, most }: Range, integer: boolean, places: number): Expr {
  const below = most === undefined ? undefined : negated(most)
  const above = least === undefined ? undefined : negated(least)
  return alternatives(
    magnitudes(least, most, false, integer, places),
    sequence(literal('-'), magnitudes(below, above, true, integer, places)),
  )
}

/** The values of one sign between the two, written without it. Zero has none. */
function magnitudes(
  least: Decimal | undefined,
  most: Decimal | undefined,
  nonzero: boolean,
  integer: boolean,
  places: number,
): Expr {
  if (most !== undefined && compareDecimals(most, zero) < 0) return alternatives()
  const lowest = integer ? { units: 1n, scale: 0 } : { units: 1n, scale: places }
  const floorOf = nonzero ? lowest : zero
  const from = least === undefined || compareDecimals(least, floorOf) < 0 ? floorOf : least
  if (most !== undefined && compareDecimals(from, most) > 0) return alternatives()
  if (integer) return integerBetween(from.units, most?.units)
  return alternatives(plainBetween(from, most, places), ...exponentsBetween(least, most))
}

/** Without leading zeros, from `from` (not negative) on; without an end as many digits as integers may have. */
export function integerBetween(from: bigint, to: bigint | undefined): Expr {
  const shortest = from.toString().length
  const longest = to?.toString().length ?? Math.max(shortest, integerDigits)
  const last = to ?? 10n ** BigInt(longest) - 1n
  if (from > last) return alternatives()
  const ways: Expr[] = []
  if (from === 0n) {
    ways.push(literal('0'))
    if (last === 0n) return alternatives(...ways)
  }
  const start = from === 0n ? 1n : from
  let full: [number, number] | undefined
  for (let length = shortest; length <= longest; length++) {
    const low = 10n ** BigInt(length - 1)
    const high = low * 10n - 1n
    if (start <= low && last >= high) {
      full = full === undefined ? [length, length] : [full[0], length]
    } else {
      const [a, b] = [start > low ? start : low, last < high ? last : high]
      ways.push(sameLength(a.toString(), b.toString()))
    }
  }
  if (full !== undefined) ways.push(sequence(charClass([0x31, 0x39]), digits(full[0] - 1, full[1] - 1)))
  return alternatives(...ways)
}

function sameLength(from: string, to: string): Expr {
  if (/^0*$/.test(from) && /^9*$/.test(to)) return digits(from.length, from.length)
  const [a, b] = [Number(from[0]), Number(to[0])]
  const [restA, restB] = [from.slice(1), to.slice(1)]
  if (a === b) return sequence(literal(String(a)), sameLength(restA, restB))
  const lowWhole = /^0*$/.test(restA)
  const highWhole = /^9*$/.test(restB)
  const [low, high] = [lowWhole ? a : a + 1, highWhole ? b : b - 1]
  const ways: Expr[] = []
  if (!lowWhole) ways.push(sequence(literal(String(a)), sameLength(restA, '9'.repeat(restA.length))))
  if (low <= high) ways.push(sequence(oneOf(low, high), digits(restA.length, restA.length)))
  if (!highWhole) ways.push(sequence(literal(String(b)), sameLength('0'.repeat(restB.length), restB)))
  return alternatives(...ways)
}

function oneOf(low: number, high: number): Expr {
  return charClass([0x30 + low, 0x30 + high])
}

/** Plain decimals of values that are not negative. */
function plainBetween(from: Decimal, to: Decimal | undefined, places: number): Expr {
  const low = digitsOf(from)
  const optional = places === 0 ? sequence() : perhaps(sequence(literal('.'), digits(1, places)))
  if (to === undefined) {
    const longest = 10n ** BigInt(wholeDigits) - 1n
    return alternatives(
      sequence(literal(String(low.whole)), fractionFrom(low.fraction, places)),
      sequence(integerBetween(low.whole + 1n, longest), optional),
    )
  }
  const high = digitsOf(to)
  if (low.whole === high.whole) {
    return sequence(literal(String(low.whole)), fractionBetween(low.fraction, high.fraction, places))
  }
  return alternatives(
    sequence(literal(String(low.whole)), fractionFrom(low.fraction, places)),
    sequence(integerBetween(low.whole + 1n, high.whole - 1n), optional),
    sequence(literal(String(high.whole)), fractionTo(high.fraction, places)),
  )
}

function fractionFrom(least: string, places: number): Expr {
  if (least !== '') return sequence(literal('.'), digitsFrom(least, places))
  return places === 0 ? sequence() : perhaps(sequence(literal('.'), digits(1, places)))
}

function fractionTo(most: string, places: number): Expr {
  if (places === 0) return sequence()
  return perhaps(sequence(literal('.'), most === '' ? literal('0') : digitsTo(most, places)))
}

function fractionBetween(least: string, most: string, places: number): Expr {
  return least === '' ? fractionTo(most, places) : sequence(literal('.'), digitsBetween(least, most, places))
}

/** Digits behind the point, at most `room` of them, that are not below `least`. */
function digitsFrom(least: string, room: number): Expr {
  if (least === '') return digits(0, Math.max(room, 0))
  if (least.length > room) return alternatives()
  // Anything above zero: the usual demand, and one that would be nested deeply.
  if (least.length === room && /^0*1$/.test(least)) {
    return sequence(repetition(literal('0'), 0, room - 1), charClass([0x31, 0x39]), digits(0, room - 1))
  }
  const first = Number(least[0])
  const ways = [sequence(literal(String(first)), digitsFrom(least.slice(1), room - 1))]
  if (first < 9) ways.push(sequence(oneOf(first + 1, 9), digits(0, room - 1)))
  return alternatives(...ways)
}

/** At least one digit, and not above `most`, which is not empty. */
function digitsTo(most: string, room: number): Expr {
  if (room === 0) return alternatives()
  const first = Number(most[0])
  const rest = most.slice(1)
  const ways: Expr[] = []
  if (first > 0) ways.push(sequence(oneOf(0, first - 1), digits(0, room - 1)))
  const same = literal(String(first))
  ways.push(rest === '' ? same : sequence(same, perhaps(digitsTo(rest, room - 1))))
  return alternatives(...ways)
}

function digitsBetween(least: string, most: string, room: number): Expr {
  if (least === '') return most === '' ? sequence() : perhaps(digitsTo(most, room))
  if (most === '' || room === 0) return alternatives()
  const [low, high] = [Number(least[0]), Number(most[0])]
  if (low === high) {
    return sequence(literal(String(low)), digitsBetween(least.slice(1), most.slice(1), room - 1))
  }
  const ways = [sequence(literal(String(low)), digitsFrom(least.slice(1), room - 1))]
  if (low + 1 < high) ways.push(sequence(oneOf(low + 1, high - 1), digits(0, room - 1)))
  const rest = most.slice(1)
  const top = literal(String(high))
  ways.push(rest === '' ? top : sequence(top, perhaps(digitsTo(rest, room - 1))))
  return alternatives(...ways)
}

/** The exponents that a double is written with: from e+21 on, and from e-7 down. */
function exponentsBetween(least: Decimal | undefined, most: Decimal | undefined): Expr[] {
  // What stands for anything above zero among plain decimals is no bound for exponents.
  const free = least === undefined || compareDecimals(least, smallest) <= 0
  const from = free ? undefined : leading(least)
  const to = most === undefined ? undefined : compareDecimals(most, zero) > 0 ? leading(most) : null
  if (to === null) return []
  return [...exponentsIn('+', BigInt(wholeDigits), from, to), ...exponentsIn('-', 7n, from, to)]
}

interface Leading {
  exponent: number
  first: string
  fraction: string
}

function leading(value: Decimal): Leading {
  const { digits: all, exponent } = scientific(value)
  return { exponent, first: all.slice(0, 1), fraction: all.slice(1) }
}

function exponentsIn(sign: '+' | '-', nearest: bigint, from?: Leading, to?: Leading): Expr[] {
  const negative = sign === '-'
  const lowest = negative ? -lastExponent : Number(nearest)
  const highest = negative ? -Number(nearest) : lastExponent
  const ways: Expr[] = []
  const between = (low: number, high: number) =>
    negative ? integerBetween(BigInt(-high), BigInt(-low)) : integerBetween(BigInt(low), BigInt(high))
  const low = Math.max(lowest, from === undefined ? lowest : from.exponent + 1)
  const high = Math.min(highest, to === undefined ? highest : to.exponent - 1)
  const mark = literal(`e${sign}`)
  if (low <= high) {
    ways.push(sequence(charClass([0x31, 0x39]), perhaps(mantissaFraction), mark, between(low, high)))
  }
  const inside = (exponent: number) => exponent >= lowest && exponent <= highest
  const power = (exponent: number) => literal(String(Math.abs(exponent)))
  if (from !== undefined && inside(from.exponent)) {
    const same = to?.exponent === from.exponent
    const mantissa = same ? mantissaBetween(from, to) : mantissaBetween(from, undefined)
    ways.push(sequence(mantissa, mark, power(from.exponent)))
    if (same) return ways
  }
  if (to !== undefined && inside(to.exponent)) {
    ways.push(sequence(mantissaBetween(undefined, to), mark, power(to.exponent)))
  }
  return ways
}

const mantissaDigits = 17
const mantissaFraction = sequence(literal('.'), digits(1, mantissaDigits))

/** One digit from 1 to 9 and perhaps a fraction. */
function mantissaBetween(from: Leading | undefined, to: Leading | undefined): Expr {
  const low: Decimal =
    from === undefined
      ? { units: 1n, scale: 0 }
      : { units: BigInt(from.first + from.fraction), scale: from.fraction.length }
  const high: Decimal =
    to === undefined
      ? { units: BigInt('9'.repeat(mantissaDigits + 1)), scale: mantissaDigits }
      : { units: BigInt(to.first + to.fraction), scale: to.fraction.length }
  return plainBetween(low, high, mantissaDigits)
}

/** Digits of a number that must be a multiple: a remainder is carried along, so they are fewer. */
const multipleDigits = 15

function multiples(demands: NumberDemands, bounded: boolean, budget: Budget): Automaton {
  const { integer, steps } = demands
  const places = integer ? 0 : Math.max(...steps.map(({ scale }) => scale))
  const text = bounded
    ? alternatives(...ranges(demands).map((range) => clippedText(range, integer, places)))
    : sequence(
        perhaps(literal('-')),
        integerBetween(0n, 10n ** BigInt(multipleDigits) - 1n),
        places === 0 ? sequence() : perhaps(sequence(literal('.'), digits(1, places))),
      )
  let automaton = automatonOf(text, budget)
  for (const step of steps) automaton = intersection(automaton, multiplesOf(step, budget), budget)
  return automaton
}

function clippedText({ least, most }: Range, integer: boolean, places: number): Expr {
  const far: Decimal = { units: 10n ** BigInt(multipleDigits) - 1n, scale: 0 }
  const clipped = {
    least: roundedUp(least ?? smaller(negated(far), most), places),
    most: negated(roundedUp(negated(most ?? larger(far, least)), places)),
  }
  if (compareDecimals(clipped.least, clipped.most) > 0) return alternatives()
  if (integer) return rangeText(clipped, true, 0)
  const from = compareDecimals(clipped.least, zero)
  const to = compareDecimals(clipped.most, zero)
  const ways: Expr[] = []
  if (to >= 0) ways.push(plainBetween(from > 0 ? clipped.least : zero, clipped.most, places))
  if (from < 0) {
    const end = to < 0 ? negated(clipped.most) : zero
    ways.push(sequence(literal('-'), plainBetween(end, negated(clipped.least), places)))
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

/** With a larger one there would be more states than a grammar may have. Powers of ten need none. */
const largestStep = 1000n

/** Whether multiples of it are a language that a grammar can say in reasonable size. */
export function isSayableStep({ units, scale }: Decimal): boolean {
  const size = units * BigInt(scale + 1)
  return units > 0n && scale <= fractionDigits && (size <= largestStep || isPowerOfTen(units))
}

function isPowerOfTen(units: bigint): boolean {
  return /^10*$/.test(units.toString())
}

/** The texts of multiples: what counts is the remainder of the digits so far, and how many of them stood behind the point. */
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
  // Behind the minus as at the start; then, place by place, the remainders, each place but the first with a point before it.
  const state = (place: number, rest: number) => 2 + place * step + rest
  const edges: Edge[][] = []
  const accepting: boolean[] = []
  const reading = (place: number, rest: number): Edge[] =>
    Array.from({ length: 10 }, (_, value) => ({
      from: 0x30 + value,
      to: 0x30 + value,
      target: state(place, (rest * 10 + value) % step),
    }))
  const put = (number: number, out: Edge[], accepted: boolean): void => {
    budget.spend(1 + out.length)
    edges[number] = out
    accepting[number] = accepted
  }
  put(0, [{ from: 0x2d, to: 0x2d, target: 1 }, ...reading(0, 0)], false)
  put(1, reading(0, 0), false)
  // The points stand behind all places, so that a text cannot end with one.
  const point = (rest: number) => 2 + (scale + 1) * step + rest
  for (let place = 0; place <= scale; place++) {
    for (let rest = 0; rest < step; rest++) {
      const missing = Array.from({ length: scale - place }).reduce<number>((at) => (at * 10) % step, rest)
      const further = place === 0 ? reading(0, rest) : place < scale ? reading(place + 1, rest) : []
      const fraction = place === 0 && scale > 0 ? [{ from: 0x2e, to: 0x2e, target: point(rest) }] : []
      put(state(place, rest), [...fraction, ...further], missing === 0)
    }
  }
  if (scale > 0) for (let rest = 0; rest < step; rest++) put(point(rest), reading(1, rest), false)
  return smallestAutomaton(trimmed(edges, accepting), budget)
}
