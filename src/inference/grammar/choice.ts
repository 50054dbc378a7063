import { ConstraintTrouble } from './constraint-trouble.ts'
import { type Grammar, trieOf } from './gbnf.ts'

/** Exactly one of these texts. */
export function choiceGrammar(choices: readonly string[]): Grammar {
  if (choices.length === 0) throw new ConstraintTrouble('flawed', 'there is nothing to choose from')
  for (const [at, choice] of choices.entries()) {
    if (choice.includes('\0')) throw new ConstraintTrouble('flawed', 'it has a NUL character', `/${at}`)
    if (!choice.isWellFormed()) {
      throw new ConstraintTrouble('flawed', 'it has half of a surrogate pair, which is no text', `/${at}`)
    }
  }
  return { rules: new Map([['root', trieOf(choices)]]) }
}
