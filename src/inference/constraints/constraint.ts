import type { AnswerFormat, CodedCalls } from '../answer-format.ts'
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
  /** For tools only: the tool, the path in its parameters and the keyword. */
  widened: readonly string[]
  /** Names in schemas that are nearly a keyword: the path, the name and the keyword. */
  notes: readonly string[]
}

export interface ConstraintOptions {
  /** White space between the parts of JSON: none, a little, or what the pattern matches. */
  whitespace: 'none' | 'bounded' | { pattern: string }
  /**
   * Members that a schema does not list: true treats them as JSON Schema does; false closes every object that lists
   * members and has no `additionalProperties`. If undefined, a schema that says nothing about other members is closed.
   */
  additionalProperties?: boolean
  /** Members may come in any order; without it, in the order of the schema. Tool arguments keep their own order. */
  anyOrder?: boolean
  /** Without it, names that are not keywords are annotations. */
  unknownKeywords?: 'refuse'
}

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
  continued?: ContinuedText
}

/** A text that an answer continues: the constraint applies to both together. */
export interface ContinuedText {
  text: string
  /** The field of the request that contains it. */
  field: string
  /** The text is JSON, which may have white space that the grammar does not write. */
  isJson: boolean
}
