import { type Automaton, intersection } from '../automaton/automaton.ts'
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
import { multiples } from './multiples.ts'
import { type NumberDemands, ranges, rangeText } from './number-ranges.ts'
import {
  digit,
  digits,
  fractionDigits,
  integerBetween,
  integerDigits,
  lastExponent,
  wholeDigits,
} from './plain-decimals.ts'

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
