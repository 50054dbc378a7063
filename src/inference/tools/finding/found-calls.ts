import type { CallFormat } from '../call-format.ts'

export interface FoundCalls {
  format: CallFormat
  /** The template takes the arguments as the text of an object. */
  isText: boolean
  /** Objects and lists inside arguments are JSON. Where they are not, the model is held to JSON there all the same. */
  hasPlainNesting: boolean
}
