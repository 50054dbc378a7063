import { charClass, type Expr, literal, optional as perhaps, sequence } from '../grammar/expressions.ts'
import { compareDecimals, type Decimal, scientific, zero } from './decimals.ts'
import {
  digits,
  integerBetween,
  lastExponent,
  plainBetween,
  smallest,
  wholeDigits,
} from './plain-decimals.ts'

/** The exponents that a double is written with: from e+21 on, and from e-7 down. */
export function exponentsBetween(least: Decimal | undefined, most: Decimal | undefined): Expr[] {
  // A bound that stands for anything above zero among plain decimals does not bound exponents.
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

/** One digit from 1 to 9, perhaps with a fraction. */
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
