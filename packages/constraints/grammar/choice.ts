import { ConstraintError } from './errors.ts'
import { type Grammar, trieOf } from './expressions.ts'

const maxCharacters = 1024 * 1024

/** Exactly one of these texts. */
export function choiceGrammar(choices: readonly string[]): Grammar {
  if (choices.length === 0) throw new ConstraintError('invalid', 'there is nothing to choose from')
  for (const [at, choice] of choices.entries()) {
    if (choice.includes('\0')) throw new ConstraintError('invalid', 'it has a NUL character', `/${at}`)
    if (!choice.isWellFormed()) {
      throw new ConstraintError('invalid', 'it has a lone surrogate, which is not text', `/${at}`)
    }
  }
  const characters = choices.reduce((sum, choice) => sum + choice.length, 0)
  if (characters > maxCharacters) {
    throw new ConstraintError(
      'unsupported',
      `the texts have ${characters} characters, at most ${maxCharacters} are accepted`,
    )
  }
  return { rules: new Map([['root', trieOf(choices)]]) }
}
