import type { CompiledGrammar, ContinuedText } from '../constraints/index.ts'

/** What an answer must be a text of. */
export interface CompiledConstraint {
  grammar: CompiledGrammar
  /** The field of the request that contains it. */
  field: string
  /** Present if the answer continues a text of the caller. */
  continued?: ContinuedField
}

/** A text that an answer continues, and the field of the request that contains it. */
export interface ContinuedField extends ContinuedText {
  field: string
}
