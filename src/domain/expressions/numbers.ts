/**
 * A number as queries compare it. Whole numbers that fit 64 bits are bigints, all others doubles, so that equal numbers
 * are represented alike and comparisons between the two are exact.
 */
export type Exact = bigint | number

/**
 * The exponent is bounded because PostgreSQL would write the number out in full; the length, because PostgreSQL refuses
 * very long numbers.
 */
const shape = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?$/
const longest = 400
const whole = /^[+-]?\d+$/

/** Null if the text is not a number, or is beyond the range of a double. */
export function parseNumber(text: string): Exact | null {
  if (text.length > longest || !shape.test(text)) return null
  if (whole.test(text)) {
    const value = BigInt(text)
    if (BigInt.asIntN(64, value) === value) return value
  }
  const double = Number(text)
  return Number.isFinite(double) ? exact(double) : null
}

export function parseWhole(text: string): Exact | null {
  return whole.test(text) ? parseNumber(text) : null
}

export function exact(value: Exact): Exact {
  if (typeof value === 'bigint' || !Number.isInteger(value)) return value
  const integer = BigInt(value)
  return BigInt.asIntN(64, integer) === integer ? integer : value
}

export function compareNumbers(left: Exact, right: Exact): number {
  if (left < right) return -1
  return left > right ? 1 : 0
}

/** Decimal digits without an exponent: the one form that both engines can produce. */
export function decimalText(number: Exact): string {
  const text = String(exact(number))
  const match = /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(text)
  if (match === null) return text
  const [, sign, before = '', after = '', exponent] = match
  const digits = before + after
  const point = before.length + Number(exponent)
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`
  return `${sign}${digits.padEnd(point, '0')}`
}
