import type { ConstraintSource } from '../constraints/index.ts'
import type { AnswerFormat, CodedCalls } from './answer-format.ts'
import type { OfferedTool } from './offered-tool.ts'
import type { ReasoningFormat, ThoughtStart } from './reasoning/reasoning-format.ts'

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
