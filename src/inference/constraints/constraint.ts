import type {
  CompiledGrammar,
  ConstraintOptions,
  ConstraintSource,
  ContinuedText,
} from '../../../packages/constraints/index.ts'
import type { AnswerFormat, CodedCalls } from '../answer-format.ts'
import type { ReasoningFormat, ThoughtStart } from '../reasoning/reasoning-format.ts'
import type { OfferedTool } from '../tools/offered-tool.ts'

/** What an answer has to be. */
export type Constraint =
  | ConstraintSource
  /** The object, or its JSON text. */
  | { kind: 'structural_tag'; tag: unknown }
  | TurnConstraint

/**
 * A turn of a conversation: thoughts, followed by content or by tool calls. Formats are resolved: control tokens are
 * markers.
 */
export interface TurnConstraint {
  kind: 'turn'
  reasoning?: ReasoningFormat
  thought: ThoughtStart
  /** A format that data cannot describe; present even if no calls are requested. */
  own?: CodedCalls
  calls?: {
    format: AnswerFormat['calls']
    tools: readonly OfferedTool[]
    choice: 'auto' | 'required' | { name: string }
    isParallel: boolean
  }
  /** Texts after the content that are not part of it. */
  closings?: readonly string[]
  /** What the content has to be where it is not a call; without it, any text. */
  content?: Exclude<Constraint, TurnConstraint>
}

/** A constraint as a grammar, with a list of the parts that were widened because they cannot be kept. */
export interface Compiled {
  grammar: CompiledGrammar
  bytes: number
  /** For tools only: the tool, the path in its parameters and the keyword. */
  widened: readonly string[]
  /** Names in schemas that are nearly a keyword: the path, the name and the keyword. */
  notes: readonly string[]
}

export type { ConstraintOptions }

/** A constraint to compile, as the compiling process receives it. */
export interface CompileQuestion {
  constraint: Constraint
  options: ConstraintOptions
  /** The field of the request that contains it. */
  field: string
}

/** A compiled constraint, as the engine receives it. */
export interface GivenConstraint {
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
