import type { AnswerFormat, OwnCalls } from '../answer-format.ts'
import type { ReasoningFormat, ThoughtStart } from '../reasoning/reasoning-format.ts'
import type { OfferedTool } from '../tools/offered-tool.ts'
import type { CompiledGrammar } from './grammar/compiled-grammar.ts'

/** What an answer has to be. */
export type Constraint =
  | { kind: 'json'; schema: unknown }
  | { kind: 'json_object' }
  | { kind: 'regex'; regex: string }
  | { kind: 'choice'; choices: readonly string[] }
  | { kind: 'grammar'; grammar: string }
  /** The object, or its JSON text. */
  | { kind: 'structural_tag'; tag: unknown }
  | TurnConstraint

/** A turn of a conversation: thoughts, then what is said, or calls of tools. Formats are resolved: control tokens are markers. */
export interface TurnConstraint {
  kind: 'turn'
  reasoning?: ReasoningFormat
  thought: ThoughtStart
  /** A format that data cannot describe, also where no calls are asked for. */
  own?: OwnCalls
  calls?: {
    format: AnswerFormat['calls']
    tools: readonly OfferedTool[]
    choice: 'auto' | 'required' | { name: string }
    isParallel: boolean
  }
  /** What the content has to be where it is not a call; any text without it. */
  content?: Exclude<Constraint, TurnConstraint>
}

/** A constraint as a grammar, and what of it was widened because it cannot be kept. */
export interface Compiled {
  grammar: CompiledGrammar
  /** For tools only: the tool, the path in its parameters and the keyword. */
  widened: readonly string[]
  /** Names in schemas that are nearly a keyword: the path, the name and the keyword. */
  notes: readonly string[]
}

export interface ConstraintOptions {
  /** Space between the parts of JSON: none, a little, or what the pattern says. */
  whitespace: 'none' | 'bounded' | { pattern: string }
  /**
   * Members that a schema lists nothing of: true leaves them as JSON Schema has it, false closes whatever lists members and
   * has no `additionalProperties`. Without it what says nothing of them is closed.
   */
  additionalProperties?: boolean
  /** Members come in any order; without it, in that of the schema. Arguments of tools keep theirs. */
  anyOrder?: boolean
  /** Names that are not keywords are annotations without it. */
  unknownKeywords?: 'refuse'
}

/** What is asked of an answer, as the thread that compiles takes it. */
export interface CompileQuestion {
  constraint: Constraint
  options: ConstraintOptions
  /** Where the request has it. */
  field: string
}

/** A constraint that was compiled, as the engine takes it. */
export interface GivenConstraint {
  grammar: CompiledGrammar
  /** Where the request has it. */
  field: string
  /** Present where the answer begins behind a text of the caller. */
  continued?: ContinuedText
}

/** A text that an answer continues: both together are what the constraint is about. */
export interface ContinuedText {
  text: string
  /** Where the request has it. */
  field: string
  /** JSON, in which white space may stand that the grammar does not write. */
  isJson: boolean
}
