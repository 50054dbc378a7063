import type { AST } from '@eslint-community/regexpp'
import { type Automaton, difference, intersection, lengths, union } from '../automaton/automaton.ts'
import { automatonOf } from '../automaton/determinise.ts'
import type { Budget } from '../grammar/budget.ts'
import { alternatives, charClass, type Expr, repetition, sequence } from '../grammar/expressions.ts'
import type { Anchored } from './anchored.ts'

interface LeadingParts {
  /** A match anywhere in the text is enough. */
  search: boolean
  budget: Budget
  /** Compiles elements without look-around. */
  compiled(elements: readonly AST.Element[]): Anchored
  looksAround(element: AST.Element): boolean
}

/** The same limit as for assertions anywhere. */
const maxLooks = 32
/** More alternatives cost more to unite than to read as one expression. */
const maxWays = 8

/**
 * The texts of an expression that looks ahead from the start of the text and nowhere else, as password rules do:
 * `^(?=.*\d)(?!.*\s).{8,64}$`. Each look-ahead applies to the whole text, so each is a language of its own. Combining
 * them leaves few states before the counts are added. Undefined for any other expression.
 */
export function leadingLookaheadAutomaton(pattern: AST.Pattern, setup: LeadingParts): Automaton | undefined {
  const { search, budget, compiled, looksAround } = setup
  let looks = 0

  /** The texts that begin with one of the alternatives; `isOpen`: anything may follow. */
  function anyOf(all: readonly AST.Alternative[], isFixed: boolean, isOpen: boolean): Automaton | undefined {
    if (all.length > maxWays) return undefined
    let whole: Automaton | undefined
    for (const { elements } of all) {
      const next = allOf(elements, isFixed, isOpen)
      if (next === undefined) return undefined
      whole = whole === undefined ? next : union(whole, next, budget)
    }
    return whole
  }

  function allOf(elements: readonly AST.Element[], isFixed: boolean, isOpen: boolean): Automaton | undefined {
    let at = 0
    let isAtStart = isFixed
    let ahead: Automaton | undefined
    for (; at < elements.length; at++) {
      const element = elements[at]
      if (element?.type !== 'Assertion') break
      if (element.kind === 'start') {
        isAtStart = true
        continue
      }
      if (element.kind !== 'lookahead') break
      if (++looks > maxLooks) return undefined
      const seen = anyOf(element.alternatives, true, true)
      if (seen === undefined) return undefined
      if (element.negate)
        ahead = difference(ahead ?? lengths(0, Number.POSITIVE_INFINITY, budget), seen, budget)
      else ahead = ahead === undefined ? seen : intersection(ahead, seen, budget)
    }
    const rest = elements.slice(at)
    if (!isAtStart || rest.some(looksAround)) return undefined
    const own = automatonOf(fromStart(compiled(rest), isOpen), budget)
    return ahead === undefined ? own : intersection(ahead, own, budget)
  }

  return anyOf(pattern.alternatives, !search, search)
}

const anything = repetition(charClass([0, 0x10ffff]), 0)

/** The piece at the start of the text, where its own start anchor is always satisfied. */
function fromStart([inside, leading, trailing, exact]: Anchored, isOpen: boolean): Expr {
  if (!isOpen) return alternatives(inside, leading, trailing, exact)
  return alternatives(sequence(inside, anything), sequence(leading, anything), trailing, exact)
}
