/**
 * How a language model writes what is more than plain text: its template renders conversations, its answers are read as
 * thoughts, content and calls, and its turns are constrained. What takes much memory is loaded when it is asked for.
 */

export { alternativeSpellings } from './alternative-spellings.ts'
export type { AnswerFormat, CodedCalls } from './answer-format.ts'
export { type CallFormat, hermes, type Literal, type TaggedValue } from './call-format.ts'
export { codedForms } from './coded/coded-forms.ts'
export { firstMarker, namesPattern, unitOfMarker, withNames } from './control-tokens.ts'
export {
  type Conversation,
  conversationOf,
  type GivenMessage,
  type GivenPart,
  type GivenTool,
  type GivenToolCall,
  type Message,
  MessageError,
  unreadMembers,
  wholeText,
} from './conversation.ts'
export { resolved } from './markers.ts'
export type { OfferedTool } from './offered-tool.ts'
export { type Parser, type Part, plainText, type ThoughtSeal } from './parts.ts'
export { createAnswerReader, type ReaderOptions } from './reading/answer-reader.ts'
export { continuedTurn, isThinkingOn, thinkingAsked, thoughtStartOf } from './reasoning/continued-turn.ts'
export type { ReasoningFormat, ThoughtStart } from './reasoning/reasoning-format.ts'
export { hiddenText } from './template/hidden-names.ts'
export { adaptConversation, withOneSystemMessage } from './template/history.ts'
export { type RenderQuestion, withoutCalls } from './template/render-question.ts'
export type { CompiledTemplate, FormatQuestion, Found, Rendering } from './template/rendering.ts'
export type { Constraint, TurnConstraint } from './turn-constraint.ts'

/** Renders templates, and finds out how their models write: with the interpreter of Jinja. */
export const loadRendering = () => import('./template/rendering.ts')

/** Grammars of answers: with the constraint library. */
export const loadGrammars = () => import('./grammar/compile-turn.ts')
