import type * as constraints from '../../constraints/index.ts'
import type { CodedCalls } from '../answer-format.ts'
import type { CallFormat } from '../call-format.ts'
import type { TurnParts } from '../grammar/calls.ts'
import type { literalExpr } from '../grammar/literals.ts'
import type { addMessageText } from '../grammar/message-text.ts'
import type { CallsOfMessages, MessageForm } from '../reading/messages.ts'
import type { ThoughtStart } from '../reasoning/reasoning-format.ts'
import type { TurnConstraint } from '../turn-constraint.ts'

/** What grammars are built of. It is passed, because who only reads answers does not load the constraint library. */
export type GrammarKit = typeof constraints & {
  literalExpr: typeof literalExpr
  addMessageText: typeof addMessageText
}

/** All that a format is that data cannot describe. */
export interface CodedForm {
  /** The names of the control tokens that mark it. */
  marks: readonly string[]
  /** Whether this call, as a template renders it, is written in the format. */
  isWritten(call: string): boolean
  /** The format as data: all of it, or, if it has a form of its own, how it writes arguments. */
  calls: CallFormat
  /** Reads the messages of an answer. `marks` has the code units of the marks by their names. */
  form?(marks: Readonly<Record<string, string>>, calls: CallsOfMessages | undefined): MessageForm
  /** Adds the rules of a turn. */
  addTurn?(
    turn: { calls: TurnConstraint['calls'] | undefined; thought: ThoughtStart },
    pieces: TurnParts,
    coded: CodedCalls,
    grammar: constraints.Grammar,
    kit: GrammarKit,
  ): void
}
