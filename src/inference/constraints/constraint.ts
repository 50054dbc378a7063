import type { Constraint } from '../../../packages/chat-format/index.ts'
import type { CompiledGrammar, ConstraintOptions } from '../../../packages/constraints/index.ts'

/** A constraint as a grammar, with a list of the parts that were widened because they cannot be kept. */
export interface Compiled {
  grammar: CompiledGrammar
  bytes: number
  /** For tools only: the tool, the path in its parameters and the keyword. */
  widened: readonly string[]
  /** Names in schemas that are nearly a keyword: the path, the name and the keyword. */
  notes: readonly string[]
}

/** A constraint to compile, as the compiling process receives it. */
export interface CompileQuestion {
  constraint: Constraint
  options: ConstraintOptions
  /** The field of the request that contains it. */
  field: string
}
