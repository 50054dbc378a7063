import {
  alternatives,
  charClass,
  type Expr,
  literal,
  optional as perhaps,
  repetition,
  sequence,
} from '../grammar/expressions.ts'
import { type Decimal, digitsOf } from './decimals.ts'

/** How numbers are written: with how many digits, and from where on with an exponent. */

/** As many as the largest 64-bit integer has. */
export const integerDigits = 19
/** A double below 1e21 is written without an exponent, with up to this many digits before the point … */
export const wholeDigits = 21
/** … and up to this many after it: five zeros and the seventeen digits of a double. */
export const fractionDigits = 22
/** Beyond it a double could be infinite or zero, depending on its first digits. */
export const lastExponent = 307

export const digit = charClass([0x30, 0x39])
export const digits = (min: number, max: number) => repetition(digit, min, max)

/** The smallest value above zero that is written out here. */
export const smallest: Decimal = { units: 1n, scale: fractionDigits }

/** Without leading zeros, from `from` (not negative) on. Without an upper end, up to as many digits as integers may have. */
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
export function plainBetween(from: Decimal, to: Decimal | undefined, scale: number): Expr {
  const low = digitsOf(from)
  const optional = scale === 0 ? sequence() : perhaps(sequence(literal('.'), digits(1, scale)))
  if (to === undefined) {
    const longest = 10n ** BigInt(wholeDigits) - 1n
    return alternatives(
      sequence(literal(String(low.whole)), fractionFrom(low.fraction, scale)),
      sequence(integerBetween(low.whole + 1n, longest), optional),
    )
  }
  const high = digitsOf(to)
  if (low.whole === high.whole) {
    return sequence(literal(String(low.whole)), fractionBetween(low.fraction, high.fraction, scale))
  }
  return alternatives(
    sequence(literal(String(low.whole)), fractionFrom(low.fraction, scale)),
    sequence(integerBetween(low.whole + 1n, high.whole - 1n), optional),
    sequence(literal(String(high.whole)), fractionTo(high.fraction, scale)),
  )
}

function fractionFrom(least: string, scale: number): Expr {
  if (least !== '') return sequence(literal('.'), digitsFrom(least, scale))
  return scale === 0 ? sequence() : perhaps(sequence(literal('.'), digits(1, scale)))
}

function fractionTo(most: string, scale: number): Expr {
  if (scale === 0) return sequence()
  return perhaps(sequence(literal('.'), most === '' ? literal('0') : digitsTo(most, scale)))
}

function fractionBetween(least: string, most: string, scale: number): Expr {
  return least === '' ? fractionTo(most, scale) : sequence(literal('.'), digitsBetween(least, most, scale))
}

/** Digits after the point, at most `room` of them, whose value is not below `least`. */
function digitsFrom(least: string, room: number): Expr {
  if (least === '') return digits(0, Math.max(room, 0))
  if (least.length > room) return alternatives()
  // Anything above zero: the usual demand, and one that would otherwise nest deeply.
  if (least.length === room && /^0*1$/.test(least)) {
    return sequence(repetition(literal('0'), 0, room - 1), charClass([0x31, 0x39]), digits(0, room - 1))
  }
  const first = Number(least[0])
  const ways = [sequence(literal(String(first)), digitsFrom(least.slice(1), room - 1))]
  if (first < 9) ways.push(sequence(oneOf(first + 1, 9), digits(0, room - 1)))
  return alternatives(...ways)
}

/** At least one digit, with a value not above `most`, which is not empty. */
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
