import { randomBytes, randomUUID } from 'node:crypto'
import type {
  AnswerFormat,
  CallFormat,
  Conversation,
  OfferedTool,
  Parser,
  ThoughtStart,
  TurnConstraint,
} from '../../packages/chat-format/index.ts'
import {
  alternativeSpellings,
  continuedTurn,
  createAnswerReader,
  isThinkingOn,
  resolved,
  thoughtStartOf,
} from '../../packages/chat-format/index.ts'
import type { ContinuedField, Generation, ServedModel } from '../../packages/engine/index.ts'
import { exactValue, maxExact } from '../domain/json/text.ts'
import { refuse } from '../domain/refusals.ts'
import type { CompileQuestion } from './constraints/constraint.ts'
import type { CallsAsked, TurnAsked } from './model.ts'

/** How the answer to a conversation is constrained and read. */
interface TurnPlan {
  /** Combines thoughts, calls and the constraint of the content; absent if the answer is free. */
  constraint: CompileQuestion | undefined
  /** The beginning of the content that the prompt already has. */
  continued: ContinuedField | undefined
  markers: readonly string[]
  thinking: Generation['thinking']
  createParser(): Parser
}

interface TurnParts {
  asked: TurnAsked
  format: AnswerFormat
  served: ServedModel
  conversation: Conversation
  /** The conversation as rendered by the template. */
  prompt: string
  /** The constraint of the content. */
  content: CompileQuestion | undefined
  /** Control tokens are shown. */
  isShown: boolean
  /** A beam search has no constraint: its answers are only read. */
  isBeam: boolean
}

export function planTurn(turn: TurnParts): TurnPlan {
  const { asked, served, conversation, prompt, content, isBeam } = turn
  const begun = isContentAsked(turn)
    ? continuedTurn(conversation, turn.format.reasoning, served.controlTokens)
    : undefined
  if (begun?.isThought === false) return planContent(turn, begun.content)
  // The end of the prompt is text: markers occur only in what the model writes.
  const thought = begun === undefined ? thoughtStartOf(turn.format.reasoning, prompt) : 'open'
  const { format, markers } = resolved(turn.format, served.controlTokens)
  const { reasoning } = format
  const toolsAsked = asked.calls?.tools ?? []
  const length = toolsAsked.reduce((sum, tool) => sum + (tool.function.parameters?.text.length ?? 0), 0)
  const tools = toolsAsked.map((tool) => offered(tool, length <= maxExact))
  const calls = asked.calls && {
    format: format.calls,
    tools,
    isParallel: asked.calls.isParallel && !allowsOneCall(format),
  }
  const second = alternativeSpellings({
    calls: calls && { ...calls, choice: (asked.calls as CallsAsked).choice },
    content,
  })
  const constraint = constraintOf()
  // If only the content is constrained, text in it that looks like a mark is content.
  const isContent = content !== undefined && constraint === content && !isBeam
  return {
    markers,
    constraint,
    continued: undefined,
    thinking: thinkingOf(turn, format, thought),
    createParser: () => {
      if (isContent) return createAnswerReader({ thought: 'over' })
      return createAnswerReader({
        ...(reasoning && { reasoning }),
        thought,
        isThoughtCut: asked.thinkingBudget !== undefined,
        ...(format.closings && { closings: format.closings }),
        ...('own' in format.calls && { own: format.calls }),
        ...(turn.isShown && { shown: markers }),
        ...(calls && {
          calls: {
            ...calls,
            second,
            isBesideContent: content !== undefined,
            newId: newIdsFor(format, conversation),
          },
        }),
      })
    },
  }

  function constraintOf(): CompileQuestion | undefined {
    if (isBeam) return content
    // A model that was not asked to think starts with its content or calls.
    const drawn = thought === 'optional' && !isThinkingOn(reasoning, conversation) ? 'over' : thought
    const own = 'own' in format.calls ? format.calls : undefined
    const hasThought = reasoning !== undefined && drawn !== 'over'
    if (calls === undefined && (content === undefined || (!hasThought && own === undefined))) return content
    const constraint: TurnConstraint = {
      kind: 'turn',
      ...(reasoning && { reasoning }),
      thought: drawn,
      ...(own && { own }),
      ...(calls && { calls: { ...calls, choice: (asked.calls as CallsAsked).choice } }),
      ...(format.closings && { closings: format.closings }),
      ...(content && { content: content.constraint as NonNullable<TurnConstraint['content']> }),
    }
    const field = asked.calls?.field ?? (content as CompileQuestion).field
    return { constraint, options: content?.options ?? { whitespace: 'bounded' }, field }
  }
}

/** Whether the answer may be content that fits the constraint. */
function isContentAsked({ asked, content, isBeam }: TurnParts): boolean {
  return content !== undefined && !isBeam && (asked.calls?.choice ?? 'auto') === 'auto'
}

/** Content that has begun can only continue: thoughts and calls come before it. */
function planContent(turn: TurnParts, text: string): TurnPlan {
  const { conversation, content } = turn
  const {
    constraint: { kind },
  } = content as CompileQuestion
  return {
    markers: [],
    constraint: content,
    continued: {
      text,
      field: conversation.continuedField ?? 'messages',
      isJson: kind === 'json' || kind === 'json_object',
    },
    thinking: thinkingOf(turn, turn.format, 'over'),
    createParser: () => createAnswerReader({ thought: 'over' }),
  }
}

function thinkingOf(
  { asked: { thinkingBudget: budget, calls: asked } }: TurnParts,
  { reasoning, calls }: AnswerFormat,
  thought: ThoughtStart,
): Generation['thinking'] {
  if (budget === undefined) return undefined
  if (reasoning !== undefined) {
    const { open, close } = reasoning
    const marks = asked === undefined ? [] : callMarks(calls)
    return { budget: budget.tokens, open, close, isOpen: thought === 'open', calls: marks }
  }
  if (budget.isOptional) return undefined
  throw refuse('not_available', {
    field: budget.field,
    received: `${budget.tokens} for a template without thoughts`,
    accepted: 'nothing',
  })
}

/** What calls may begin with in the middle of a thought, up to the first white space, which may vary. */
function callMarks(calls: AnswerFormat['calls']): string[] {
  if ('own' in calls || calls.isAnchored) return []
  const [first] = calls.open
  const mark = typeof first === 'string' ? first.trim().split(/\s/)[0] : undefined
  return mark ? [mark] : []
}

function offered(
  { function: { name, parameters, strict }, field }: CallsAsked['tools'][number],
  keepsDigits: boolean,
): OfferedTool {
  const schema = keepsDigits && parameters ? exactValue(parameters.text) : parameters?.value
  return { name, parameters: schema, strict: strict ?? false, field }
}

const allowsOneCall = ({ calls }: AnswerFormat) => !('own' in calls) && calls.gap === undefined

const nineOf = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Ids that the template accepts when a client sends them back; the model's own ids if it writes any. */
function newIdsFor(
  { calls }: AnswerFormat,
  { messages }: Conversation,
): (index: number, name: string) => string {
  const written = 'own' in calls ? undefined : writtenId(calls)
  if (written !== undefined) {
    const earlier = messages.reduce((sum, message) => sum + (message.tool_calls?.length ?? 0), 0)
    return (index, name) => `${written.before}${name}${written.behind}${written.from + earlier + index}`
  }
  if ('own' in calls || calls.ids === 'any') return () => `chatcmpl-tool-${randomUUID().replaceAll('-', '')}`
  return () => Array.from(randomBytes(9), (byte) => nineOf[byte % nineOf.length]).join('')
}

/** A name followed by a number, with nothing else between two marks, is the id of the call: `functions.NAME:0`. */
function writtenId({ open, mid, counter }: CallFormat) {
  const [behind, hole] = mid
  const last = open.at(-1)
  const before = typeof last === 'string' ? /[\w.]+$/.exec(last)?.[0] : undefined
  if (before === undefined || typeof behind !== 'string' || !/^[:.]$/.test(behind)) return undefined
  return typeof hole === 'object' && hole.hole === 'counter'
    ? { before, behind, from: counter?.from ?? 0 }
    : undefined
}
