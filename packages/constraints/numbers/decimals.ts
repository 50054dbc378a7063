import { JsonNumber } from '../../json/index.ts'

/** units / 10^scale, exactly; units has no trailing zero unless scale is 0. */
export interface Decimal {
  readonly units: bigint
  readonly scale: number
}

export const zero: Decimal = { units: 0n, scale: 0 }

/** More than any double has, in either direction. */
const maxPlaces = 400

/** Undefined for what is not a number, or has an exponent that no double has. */
export function decimalOf(value: unknown): Decimal | undefined {
  const text =
    typeof value === 'number' ? String(value) : value instanceof JsonNumber ? value.token : undefined
  const match = text === undefined ? null : /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text)
  if (match === null) return undefined
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match
  const scale = fraction.length - Number(exponent)
  if (Math.abs(scale) > maxPlaces || whole.length > maxPlaces) return undefined
  const units = BigInt(`${sign}${whole}${fraction}`)
  return scale < 0 ? { units: units * 10n ** BigInt(-scale), scale: 0 } : reduced(units, scale)
}

export function compareDecimals(left: Decimal, right: Decimal): number {
  const scale = Math.max(left.scale, right.scale)
  const a = unitsAt(left, scale)
  const b = unitsAt(right, scale)
  return a < b ? -1 : a > b ? 1 : 0
}

export function negated({ units, scale }: Decimal): Decimal {
  return { units: -units, scale }
}

/** The largest integer that is not above it. */
export function floor({ units, scale }: Decimal): bigint {
  const power = 10n ** BigInt(scale)
  const whole = units / power
  return units < 0n && whole * power !== units ? whole - 1n : whole
}

/** The smallest value with this many decimal places that is not below it. */
export function roundedUp({ units, scale }: Decimal, decimals: number): Decimal {
  if (scale <= decimals) return { units, scale }
  const raised = -floor({ units: -units, scale: scale - decimals })
  return reduced(raised, decimals)
}

export function isInteger({ scale }: Decimal): boolean {
  return scale === 0
}

export function isMultiple(value: Decimal, step: Decimal): boolean {
  const scale = Math.max(value.scale, step.scale)
  return unitsAt(value, scale) % unitsAt(step, scale) === 0n
}

/**
 * The neighbouring double in the direction of the sign, in its decimal digits: a value between two doubles is read as one
 * of them.
 */
export function beside(value: Decimal, direction: 1 | -1): Decimal {
  const buffer = new DataView(new ArrayBuffer(8))
  const double = Number(`${value.units}e${-value.scale}`)
  buffer.setFloat64(0, double)
  const bits = buffer.getBigInt64(0)
  buffer.setBigInt64(0, bits + (double > 0 ? BigInt(direction) : -BigInt(direction)))
  return decimalOf(buffer.getFloat64(0)) ?? value
}

/** The digits before and after the point of a value that is not negative. */
export function digitsOf({ units, scale }: Decimal): { whole: bigint; fraction: string } {
  const power = 10n ** BigInt(scale)
  const fraction = scale === 0 ? '' : (units % power).toString().padStart(scale, '0')
  return { whole: units / power, fraction }
}

/** Without an exponent, and without trailing zeros of a fraction. */
export function textOf(value: Decimal): string {
  const { whole, fraction } = digitsOf(value.units < 0n ? negated(value) : value)
  return `${value.units < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

/** The significant digits of a value above zero, and the power of ten of the first. */
export function scientific({ units, scale }: Decimal): { digits: string; exponent: number } {
  const digits = units.toString()
  return { digits: digits.replace(/0+$/, ''), exponent: digits.length - 1 - scale }
}

function unitsAt({ units, scale }: Decimal, at: number): bigint {
  return units * 10n ** BigInt(at - scale)
}

function reduced(units: bigint, scale: number): Decimal {
  let [rest, decimals] = [units, scale]
  while (decimals > 0 && rest % 10n === 0n) {
    rest /= 10n
    decimals--
  }
  return { units: rest, scale: decimals }
}
