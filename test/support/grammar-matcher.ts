import type { CompiledGrammar } from '../../src/inference/constraints/grammar/compiled-grammar.ts'
import { hasMarks } from '../../src/inference/constraints/grammar/marks.ts'
import { gbnfOf } from './gbnf.ts'
import { createGbnfMatcher } from './gbnf-matcher.ts'
import { createRememberingMatcher, type RememberingMatcher } from './remembering-matcher.ts'

/** A matcher that shares nothing with the engine, if the grammar needs no memory. */
export function createGrammarMatcher(grammar: CompiledGrammar): RememberingMatcher {
  return hasMarks(grammar) ? createRememberingMatcher(grammar) : createGbnfMatcher(gbnfOf(grammar))
}
