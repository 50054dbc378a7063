import type { CallFormat } from '../call-format.ts'

export interface FoundCalls {
  format: CallFormat
  /** The template expects the arguments as the text of an object. */
  isText: boolean
  /** Objects and lists inside arguments are JSON. If they are not, the model is constrained to JSON there all the same. */
  hasPlainNesting: boolean
}
