import type { AST } from '@eslint-community/regexpp'
import { type Automaton, difference, everyCodePoint } from '../automaton/automaton.ts'
import { automatonOf, withLoops, without } from '../automaton/determinise.ts'
import type { Budget } from '../grammar/budget.ts'
import { RegexError } from '../grammar/errors.ts'
import {
  alternatives,
  charClass,
  complement,
  type Expr,
  emptyText,
  type Range,
  repetition,
  sequence,
} from '../grammar/expressions.ts'
import { type Flags, flagsWithin, lineEnds, noFlags, rangesOf, wordRanges } from './characters.ts'

const maxAssertions = 32
/** Beyond every code point and symbol. */
const firstMark = 0x120000
const marks: Range = [firstMark, firstMark + maxAssertions - 1]

/**
 * An assertion is represented by a mark of its own in the expression. It is true or false for the texts before and after
 * it.
 */
interface Assertion {
  readonly mark: number
  readonly element: AST.Assertion
  readonly flags: Flags
  readonly repeats: boolean
}

const anything = repetition(charClass(...everyCodePoint), 0)

/**
 * The texts that an expression with look-around, word boundaries or anchors anywhere matches. The expression is read with
 * a mark for each assertion. Then the texts in which an assertion is false at its mark are removed, and finally the
 * marks.
 */
export function assertionsAutomaton(pattern: AST.Pattern, search: boolean, budget: Budget): Automaton {
  let count = 0

  const marked = (
    branches: readonly AST.Alternative[],
    flags: Flags,
    repeats: boolean,
    found: Assertion[],
  ): Expr =>
    alternatives(
      ...branches.map(({ elements }) =>
        sequence(...elements.map((element) => piece(element, flags, repeats, found))),
      ),
    )

  const piece = (element: AST.Element, flags: Flags, repeats: boolean, found: Assertion[]): Expr => {
    switch (element.type) {
      case 'Assertion': {
        if (count === maxAssertions) {
          throw new RegexError(
            'unsupported',
            `it has more than ${maxAssertions} assertions (look-around, word boundaries and anchors)`,
          )
        }
        const mark = firstMark + count++
        found.push({ mark, element, flags, repeats })
        return markOf(mark)
      }
      case 'Quantifier': {
        const { min, max } = element
        return repetition(piece(element.element, flags, repeats || max > 1, found), min, max)
      }
      case 'Group':
        return marked(element.alternatives, flagsWithin(flags, element.modifiers), repeats, found)
      case 'CapturingGroup':
        return marked(element.alternatives, flags, repeats, found)
      case 'Character':
      case 'CharacterSet':
      case 'CharacterClass':
        return charClass(...rangesOf(element, flags))
      default:
        throw unsupported(element)
    }
  }

  /** The texts of the expression in which each of these assertions is true. */
  const settled = (expr: Expr, found: readonly Assertion[]): Automaton => {
    let automaton = automatonOf(expr, budget)
    // Assertions about the start and the end of the text leave the least work for the others.
    const isAnchor = ({ element }: Assertion) => element.kind === 'start' || element.kind === 'end'
    for (const assertion of [...found.filter(isAnchor), ...found.filter((other) => !isAnchor(other))]) {
      const others: Range[] = assertion.repeats
        ? [marks]
        : [
            [marks[0], assertion.mark - 1],
            [assertion.mark + 1, marks[1]],
          ]
      const loops = others.filter(([first, last]) => first <= last)
      automaton = difference(automaton, withLoops(failing(assertion), loops, budget), budget)
    }
    return without(
      automaton,
      found.map(({ mark }) => mark),
      budget,
    )
  }

  /** The texts with one such mark at a position where its assertion is false. */
  const failing = ({ mark, element, flags }: Assertion): Automaton => {
    const at = markOf(mark)
    const of = (...ways: Expr[]) => automatonOf(alternatives(...ways), budget)
    const some = charClass(...everyCodePoint)
    switch (element.kind) {
      case 'start':
      case 'end': {
        const before = element.kind === 'start'
        const inner = flags.multiline ? charClass(...complement(lineEnds)) : some
        return before
          ? of(sequence(anything, inner, at, anything))
          : of(sequence(anything, at, inner, anything))
      }
      case 'word': {
        const word = charClass(...wordRanges(flags))
        const other = charClass(...complement(wordRanges(flags)))
        const [wordBefore, otherBefore] = [
          sequence(anything, word),
          alternatives(emptyText, sequence(anything, other)),
        ]
        const [wordAfter, otherAfter] = [
          sequence(word, anything),
          alternatives(emptyText, sequence(other, anything)),
        ]
        const within = of(sequence(wordBefore, at, wordAfter), sequence(otherBefore, at, otherAfter))
        const between = of(sequence(wordBefore, at, otherAfter), sequence(otherBefore, at, wordAfter))
        return element.negate ? between : within
      }
      default: {
        const inner: Assertion[] = []
        const body = marked(element.alternatives, flags, false, inner)
        const holding = settled(
          element.kind === 'lookahead'
            ? sequence(anything, at, body, anything)
            : sequence(anything, body, at, anything),
          inner,
        )
        return element.negate ? holding : difference(of(sequence(anything, at, anything)), holding, budget)
      }
    }
  }

  const found: Assertion[] = []
  const expr = marked(pattern.alternatives, noFlags, false, found)
  return settled(search ? sequence(anything, expr, anything) : expr, found)
}

function markOf(mark: number): Expr {
  return charClass([mark, mark])
}

export function unsupported(element: AST.Backreference | AST.ExpressionCharacterClass): RegexError {
  return new RegexError(
    'unsupported',
    element.type === 'Backreference'
      ? `a back-reference (${element.raw}) is not supported`
      : `a set operation (${element.raw}) is not supported`,
  )
}
