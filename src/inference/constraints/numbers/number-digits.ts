import { charClass, repetition } from '../grammar/expressions.ts'
import type { Decimal } from './decimals.ts'

/** How numbers are written: with how many digits, and from where on with an exponent. */

/** As many as the largest 64-bit integer has. */
export const integerDigits = 19
/** A double below 1e21 is written without an exponent: with so many digits before the point … */
export const wholeDigits = 21
/** … and behind it at most so many: five zeros and the seventeen digits of a double. */
export const fractionDigits = 22
/** Beyond it a double would be infinite or zero, with any first digits. */
export const lastExponent = 307

export const digit = charClass([0x30, 0x39])
export const digits = (min: number, max: number) => repetition(digit, min, max)

/** The smallest value above zero that is written out here. */
export const smallest: Decimal = { units: 1n, scale: fractionDigits }
