import type { Conversation, GivenMessage, GivenTool } from '../../../packages/chat-format/index.ts'
import type { ServedModel } from '../../../packages/engine/index.ts'
import { checkedPicture, type PictureCheck } from '../../domain/pictures/check.ts'
import { wrong } from '../../domain/refusals.ts'
import type { CountTokensBody } from './contract.ts'
import type { Message } from './fields.ts'
import { thinkingOf } from './thinking.ts'
import { assistantTurn, type Turn, textBlocksOf, turnOfTexts, userTurns } from './turns.ts'

/** More than any context holds. */
const maxMessages = 10_000

/** The conversation of a request, in the roles that templates know, for a model that takes pictures or not. */
export function conversationOf(
  body: CountTokensBody,
  tools: readonly GivenTool[],
  { passesPictures = false }: Pick<ServedModel, 'passesPictures'>,
): Conversation {
  const { messages, system } = body
  if (messages.length === 0) throw wrong('messages', 'an empty list', 'at least one message')
  if (messages.length > maxMessages) {
    throw wrong('messages', `${messages.length} messages`, `at most ${maxMessages}`)
  }
  const isContinued = messages.at(-1)?.role === 'assistant'
  const check = passesPictures ? checkedPicture : undefined
  const turns = messages.flatMap((message, index) => turnsOf(message, `messages.${index}`, check))
  const last = turns.at(-1)
  if (isContinued && last?.tool_calls) {
    throw wrong(
      'messages',
      'a last message with a block of type "tool_use"',
      'a message followed by its tool_result',
    )
  }
  return {
    messages: joined([...systemOf(system), ...turns]),
    addGenerationPrompt: !isContinued,
    continueFinal: isContinued,
    continuedField: `messages.${messages.length - 1}.content`,
    tools,
    ...thinkingOf(body),
  }
}

/**
 * A line that Claude Code sends and that differs in each request: `x-anthropic-billing-header: cc_version=…; cch=…;`.
 */
const billing = /^x-anthropic-billing-header:(?:[ \t]*[\w.-]+=[^;\s]*(?:;|$|(?=\n)))*\s*/

function systemOf(system: CountTokensBody['system']): Turn[] {
  const [first, ...rest] = textBlocksOf(system ?? [], 'system')
  if (first === undefined) return []
  const blocks = [{ ...first, text: String(first.text).replace(billing, '') }, ...rest]
  const turn = turnOfTexts(
    'system',
    blocks.filter(({ text }) => text !== ''),
  )
  return turn.content.length > 0 ? [turn] : []
}

/** A message is one turn, except for results of tools: they are turns of their own, before the user's text. */
function turnsOf({ role, content }: Message, path: string, check: PictureCheck | undefined): Turn[] {
  if (typeof content === 'string' || role === 'system')
    return [turnOfTexts(role, textBlocksOf(content, `${path}.content`))]
  return role === 'user'
    ? userTurns(content, `${path}.content`, check)
    : [assistantTurn(content, `${path}.content`)]
}

/** Joins consecutive turns of one role, because many templates require roles to alternate. */
function joined(turns: readonly Turn[]): GivenMessage[] {
  const all: Turn[] = []
  for (const turn of turns) {
    const last = all.at(-1)
    if (last?.role === turn.role && turn.role !== 'tool') addTo(last, turn)
    else all.push({ ...turn, content: [...turn.content], blocks: [...turn.blocks] })
  }
  return all.map(({ content, ...turn }) => ({
    ...turn,
    content: contentOf(content),
  }))
}

function addTo(turn: Turn, { content, tool_calls: calls = [], reasoning, blocks }: Turn): void {
  // There may be more than a call takes arguments.
  for (const piece of content) turn.content.push(piece)
  for (const block of blocks) turn.blocks.push(block)
  if (calls.length > 0) turn.tool_calls = [...(turn.tool_calls ?? []), ...calls]
  if (reasoning !== undefined) {
    turn.reasoning = turn.reasoning === undefined ? reasoning : `${turn.reasoning}\n${reasoning}`
  }
}

function contentOf(content: Turn['content']): GivenMessage['content'] {
  if (content.every((piece) => typeof piece === 'string'))
    return content.length > 1 ? content : (content[0] ?? '')
  return content.map((piece) => (typeof piece === 'string' ? { type: 'text', text: piece } : piece))
}
