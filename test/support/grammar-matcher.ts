import { type CompiledGrammar, hasMarks } from '../../packages/constraints/index.ts'
import { gbnfOf } from './gbnf.ts'
import { createGbnfMatcher } from './gbnf-matcher.ts'
import { createRememberingMatcher, type RememberingMatcher } from './remembering-matcher.ts'

/** A matcher that shares nothing with the engine, if the grammar needs no memory. */
export function createGrammarMatcher(grammar: CompiledGrammar): RememberingMatcher {
  return hasMarks(grammar) ? createRememberingMatcher(grammar) : createGbnfMatcher(gbnfOf(grammar))
}
