import { gbnfOf } from '../../../test/support/gbnf.ts'
import { createGbnfMatcher } from '../../../test/support/gbnf-matcher.ts'
import {
  createRememberingMatcher,
  type RememberingMatcher,
} from '../../../test/support/remembering-matcher.ts'
import { type CompiledGrammar, hasMarks } from '../index.ts'

/** A matcher that shares nothing with the engine, if the grammar needs no memory. */
export function createGrammarMatcher(grammar: CompiledGrammar): RememberingMatcher {
  return hasMarks(grammar) ? createRememberingMatcher(grammar) : createGbnfMatcher(gbnfOf(grammar))
}
