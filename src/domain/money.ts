/** Money is counted in whole billionths of a unit of its currency, so that sums are exact. */

const nanoDigits = 9
/** Digits of the price of one token behind the point. */
const priceDigits = 18

/** In units. Its billionths, and sums of many times this amount, are whole numbers that a double counts exactly. */
export const maxAmount = 1_000_000
const maxCost = BigInt(maxAmount) * 10n ** BigInt(nanoDigits)

const decimal = /^(\d{1,7})(?:\.(\d{1,9}))?$/

/** The billionths of an amount such as `12.50`. */
export function amountOf(text: string): number | undefined {
  const [, whole, fraction = ''] = decimal.exec(text) ?? []
  if (whole === undefined || Number(whole) > maxAmount) return undefined
  const amount = Number(whole) * 10 ** nanoDigits + Number(fraction.padEnd(nanoDigits, '0'))
  return amount > maxCost ? undefined : amount
}

/** `12.5`: all digits, and no zeros behind them. */
export function amountText(amount: number): string {
  const whole = Math.floor(amount / 10 ** nanoDigits)
  const fraction = String(amount % 10 ** nanoDigits).padStart(nanoDigits, '0')
  return `${whole}.${fraction}`.replace(/\.?0+$/, '')
}

export interface TokenCount {
  prompt: number
  completion: number
}

/** The price of one token, of a prompt and of an answer. */
export interface TokenPrice {
  prompt: bigint
  completion: bigint
}

/** The digits of a price as it is written, as a whole number. Digits beyond the 18th are rounded up. */
export function exactPrice(price: number): bigint {
  const [, whole = '0', fraction = '', exponent = '0'] =
    /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(price)) ?? []
  const digits = BigInt(whole + fraction)
  const scale = priceDigits - fraction.length + Number(exponent)
  if (scale >= 0) return digits * 10n ** BigInt(scale)
  return roundedUp(digits, 10n ** BigInt(-scale))
}

const roundedUp = (value: bigint, divisor: bigint) => (value + divisor - 1n) / divisor

/** What an answer costs, rounded up once to whole billionths. */
export function costOfTokens(tokens: TokenCount, price: TokenPrice): number {
  const exact = BigInt(tokens.prompt) * price.prompt + BigInt(tokens.completion) * price.completion
  const cost = roundedUp(exact, 10n ** BigInt(priceDigits - nanoDigits))
  return Number(cost < maxCost ? cost : maxCost)
}
