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
import { createGroupCache } from '../group-cache.ts'
import type { Decimal } from './decimals.ts'
import { multiples } from './multiples.ts'
import { type Bound, type NumberDemands, ranges, rangeText } from './number-ranges.ts'
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
 * The texts of the numbers that meet the demands. With bounds these are plain decimals and the exponents that doubles are
 * written with; without bounds any JSON number, with a bounded number of digits. `write` turns an automaton into grammar.
 */
export function numberText(
  demands: NumberDemands,
  budget: Budget,
  write: (automaton: Automaton) => Expr,
): Expr {
  const text = textsOf(demands, budget)
  return 'kind' in text ? text : write(text)
}

/** Only the texts that are unique to a number: no exponent, no trailing zeros of a fraction, no negative zero. */
export function canonicalNumbers(demands: NumberDemands, budget: Budget): Automaton {
  const text = textsOf(demands, budget)
  const numbers = 'kind' in text ? automatonOf(text, budget) : text
  return intersection(numbers, automatonOf(demands.integer ? anyInteger : canonicalText, budget), budget)
}

function textsOf(demands: NumberDemands, budget: Budget): Automaton | Expr {
  const { integer, least, most, excluded } = demands
  const stepped = demands.steps.length + demands.avoided.length > 0
  const bounded = least !== undefined || most !== undefined || excluded.length > 0
  if (demands.fractional) {
    if (integer) return alternatives()
    const numbers = stepped
      ? multiples(demands, bounded, budget)
      : automatonOf(
          alternatives(...ranges(demands).map((range) => rangeText(range, false, fractionDigits))),
          budget,
        )
    return intersection(numbers, automatonOf(fractionalText, budget), budget)
  }
  if (stepped) return multiples(demands, bounded, budget)
  if (!bounded) return integer ? anyInteger : anyNumber
  const key = [integer, ...[least, most].map(boundKey), ...excluded.map(decimalKey)].join(' ')
  return rangeTexts.memo(key, () =>
    alternatives(...ranges(demands).map((range) => rangeText(range, integer, fractionDigits))),
  )
}

/** Bounds are mostly a few round numbers, and the numbers between them can be written in many ways. */
const rangeTexts = createGroupCache<Expr>({ max: 200 })

function boundKey(bound: Bound | undefined): string {
  return bound === undefined ? '-' : `${bound.exclusive}${decimalKey(bound.value)}`
}

function decimalKey({ units, scale }: Decimal): string {
  return `${units}/${scale}`
}

const anyInteger = alternatives(
  literal('0'),
  sequence(perhaps(literal('-')), charClass([0x31, 0x39]), digits(0, integerDigits - 1)),
)

/**
 * With up to 22 digits before the point, a large exponent would reach infinity; so with a large exponent there is one
 * digit.
 */
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

const whole = alternatives(literal('0'), sequence(charClass([0x31, 0x39]), digits(0, wholeDigits - 1)))
const canonicalText = alternatives(
  anyInteger,
  sequence(
    perhaps(literal('-')),
    whole,
    literal('.'),
    digits(0, fractionDigits - 1),
    charClass([0x31, 0x39]),
  ),
)

function threeDigitExponent(): Expr {
  return integerBetween(100n, BigInt(lastExponent))
}

/** A digit other than zero after the point, or a negative exponent, which is written only without a whole part. */
const someDigits = repetition(digit, 0)
const fractionalText = sequence(
  perhaps(literal('-')),
  alternatives(
    sequence(digit, someDigits, literal('.'), someDigits, charClass([0x31, 0x39]), someDigits),
    sequence(digit, perhaps(sequence(literal('.'), someDigits)), literal('e-'), someDigits),
  ),
)
