import { alternatives, type Expr, literal, sequence } from '../grammar/expressions.ts'
import { beside, compareDecimals, type Decimal, floor, isInteger, negated, zero } from './decimals.ts'
import { exponentsBetween } from './exponents.ts'
import { integerBetween, plainBetween, smallest } from './plain-decimals.ts'

export interface NumberDemands {
  integer: boolean
  least: Bound | undefined
  most: Bound | undefined
  steps: readonly Decimal[]
  /** The steps of which it must not be a multiple. */
  avoided: readonly Decimal[]
  excluded: readonly Decimal[]
  /** No whole numbers. */
  fractional: boolean
}

export interface Bound {
  value: Decimal
  exclusive: boolean
}

export interface Range {
  least: Decimal | undefined
  most: Decimal | undefined
}

/** The demanded range, split at the excluded values; both ends of each range are included. */
export function ranges({ integer, least, most, excluded }: NumberDemands): Range[] {
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

function firstDecimal(bound: Bound | undefined): Decimal | undefined {
  if (bound === undefined || !bound.exclusive) return bound?.value
  return compareDecimals(bound.value, zero) === 0 ? smallest : beside(bound.value, 1)
}

function lastDecimal(bound: Bound | undefined): Decimal | undefined {
  const first = bound === undefined ? undefined : firstDecimal({ ...bound, value: negated(bound.value) })
  return first === undefined ? undefined : negated(first)
}

export function rangeText({ least, most }: Range, integer: boolean, scale: number): Expr {
  const below = most === undefined ? undefined : negated(most)
  const above = least === undefined ? undefined : negated(least)
  return alternatives(
    magnitudes(least, most, false, integer, scale),
    sequence(literal('-'), magnitudes(below, above, true, integer, scale)),
  )
}

/** The values of one sign between the two, written without it. Zero has no sign. */
function magnitudes(
  least: Decimal | undefined,
  most: Decimal | undefined,
  nonzero: boolean,
  integer: boolean,
  scale: number,
): Expr {
  if (most !== undefined && compareDecimals(most, zero) < 0) return alternatives()
  const lowest = integer ? { units: 1n, scale: 0 } : { units: 1n, scale: scale }
  const floorOf = nonzero ? lowest : zero
  const from = least === undefined || compareDecimals(least, floorOf) < 0 ? floorOf : least
  if (most !== undefined && compareDecimals(from, most) > 0) return alternatives()
  if (integer) return integerBetween(from.units, most?.units)
  return alternatives(plainBetween(from, most, scale), ...exponentsBetween(least, most))
}
