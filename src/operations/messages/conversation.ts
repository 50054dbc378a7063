import type {
  Conversation,
  GivenMessage,
  GivenPart,
  GivenTool,
  GivenToolCall,
  SealedThought,
} from '../../../packages/chat-format/index.ts'
import type { ServedModel } from '../../../packages/engine/index.ts'
import type { JsonText } from '../../domain/json/text.ts'
import { checkedPicture, type PictureCheck } from '../../domain/pictures/check.ts'
import { wrong } from '../generation/checks.ts'
import type { CountTokensBody } from './contract.ts'
import type { ContentBlock, Message, ResultBlock } from './fields.ts'
import { isForeign, thoughtOf } from './signature.ts'
import { thinkingOf } from './thinking.ts'

/** A picture in the form of chat completions. */
function pictureOf({ source }: ResultBlock, path: string, check: PictureCheck): GivenPart {
  const { type, media_type, data, url } = source ?? {}
  if (type === 'base64') {
    if (media_type == null) throw wrong(`${path}.source.media_type`, 'nothing', 'a type such as image/png')
    if (data == null) throw wrong(`${path}.source.data`, 'nothing', 'the picture in base64')
    const packed = check(`data:${media_type};base64,${data}`, `${path}.source.data`)
    return { type: 'image_url', image_url: { url: packed } }
  }
  if (type !== 'url')
    throw wrong(`${path}.source.type`, type == null ? 'nothing' : JSON.stringify(type), 'base64, url')
  if (url == null) throw wrong(`${path}.source.url`, 'nothing', 'the address of a picture')
  return { type: 'image_url', image_url: { url: check(url, `${path}.source.url`) } }
}

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

interface Turn extends GivenMessage {
  content: (string | GivenPart)[]
  tool_calls?: GivenToolCall[]
  reasoning?: string
  sealed?: readonly SealedThought[]
}

/**
 * A line that Claude Code sends and that differs in each request: `x-anthropic-billing-header: cc_version=…; cch=…;`.
 */
const billing = /^x-anthropic-billing-header:(?:[ \t]*[\w.-]+=[^;\s]*(?:;|$|(?=\n)))*\s*/

function systemOf(system: CountTokensBody['system']): Turn[] {
  const texts = textsOf(system ?? [], 'system')
  const [first = '', ...rest] = texts
  const content = [first.replace(billing, ''), ...rest].filter((text) => text !== '')
  return content.length > 0 ? [{ role: 'system', content }] : []
}

/** A message is one turn, except for results of tools: they are turns of their own, before the user's text. */
function turnsOf({ role, content }: Message, path: string, check: PictureCheck | undefined): Turn[] {
  if (typeof content === 'string') return [{ role, content: content === '' ? [] : [content] }]
  if (role === 'system') return [{ role, content: textsOf(content, `${path}.content`) }]
  return role === 'user'
    ? userTurns(content, `${path}.content`, check)
    : [assistantTurn(content, `${path}.content`)]
}

/** Pictures of results come in the user's turn after all results: few servers take them in a result. */
function userTurns(blocks: readonly ContentBlock[], path: string, check: PictureCheck | undefined): Turn[] {
  const results: Turn[] = []
  const shown: GivenPart[] = []
  const pictures = check && { shown, check }
  const content: Turn['content'] = []
  const accepted = check ? 'text, image, tool_result' : 'text, tool_result'
  for (const [index, block] of blocks.entries()) {
    const at = `${path}.${index}`
    if (block.type === 'text') addText(content, block, at)
    else if (block.type === 'image' && check) content.push(pictureOf(block, at, check))
    else if (block.type === 'tool_result') results.push(resultOf(block, at, pictures))
    else throw wrongType(block, at, accepted)
  }
  const all = [...shown, ...content]
  return results.length > 0 && all.length === 0 ? results : [...results, { role: 'user', content: all }]
}

function assistantTurn(blocks: readonly ContentBlock[], path: string): Turn {
  const content: string[] = []
  const calls: GivenToolCall[] = []
  const thoughts: string[] = []
  const sealed: SealedThought[] = []
  for (const [index, block] of blocks.entries()) {
    const at = `${path}.${index}`
    switch (block.type) {
      case 'text':
        addText(content, block, at)
        break
      case 'tool_use':
        calls.push(callOf(block, at))
        break
      case 'thinking':
        thoughts.push(givenThought(block, at))
        if (isForeign(block.signature))
          sealed.push({ text: block.thinking ?? '', seal: { kind: 'signature', text: block.signature } })
        break
      // Only the server that sealed it can read it.
      case 'redacted_thinking':
        if (block.data) sealed.push({ text: '', seal: { kind: 'redacted', text: block.data } })
        break
      default:
        throw wrongType(block, at, 'text, tool_use, thinking, redacted_thinking')
    }
  }
  return {
    role: 'assistant',
    content,
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(thoughts.length > 0 && { reasoning: thoughts.join('\n') }),
    ...(sealed.length > 0 && { sealed }),
  }
}

/** Gets the pictures of results, each checked. */
interface ResultPictures {
  shown: GivenPart[]
  check: PictureCheck
}

/** Without `pictures`, those of the result are refused. */
function resultOf(
  { tool_use_id: id, content, is_error }: ContentBlock,
  path: string,
  pictures: ResultPictures | undefined,
): Turn {
  if (id == null) throw missing(`${path}.tool_use_id`, 'the id of a tool_use block')
  const texts = textsOf(content ?? [], `${path}.content`, pictures)
  const result = { role: 'tool', tool_call_id: id }
  return is_error ? { ...result, content: asError(texts), hasFailed: true } : { ...result, content: texts }
}

/** Templates have no field for an error. */
function asError(texts: string[]): string[] {
  const [first = '', ...rest] = texts
  return /^\W*(tool_use_)?error\b/i.test(first) ? texts : [`Error: ${first}`, ...rest]
}

function callOf({ id, name, input }: ContentBlock, path: string): GivenToolCall {
  if (id == null) throw missing(`${path}.id`, 'the id of the call')
  if (name == null) throw missing(`${path}.name`, 'the name of a tool')
  if (input == null) throw missing(`${path}.input`, 'an object')
  return { id, type: 'function', function: { name, arguments: (input as JsonText).text } }
}

function givenThought({ thinking, signature }: ContentBlock, path: string): string {
  if (thinking == null) throw missing(`${path}.thinking`, 'a string')
  const thought = thoughtOf(thinking, signature ?? '')
  if (thought !== undefined) return thought
  throw wrong(`${path}.signature`, 'the signature of another thought', 'the thought as it was returned')
}

function textsOf(
  content: string | readonly ResultBlock[],
  path: string,
  pictures?: ResultPictures,
): string[] {
  if (typeof content === 'string') return content === '' ? [] : [content]
  const texts: string[] = []
  for (const [index, block] of content.entries()) {
    const at = `${path}.${index}`
    if (block.type === 'image' && pictures) pictures.shown.push(pictureOf(block, at, pictures.check))
    else if (block.type === 'text') addText(texts, block, at)
    else throw wrongType(block, at, pictures ? 'text, image' : 'text')
  }
  return texts
}

function addText(texts: unknown[], { text }: ResultBlock, path: string): void {
  if (text == null) throw missing(`${path}.text`, 'a string')
  if (text !== '') texts.push(text)
}

const missing = (field: string, accepted: string) => wrong(field, 'nothing', accepted)

const wrongType = ({ type }: { type: string }, path: string, accepted: string) =>
  wrong(
    `${path}.type`,
    `a block of type ${JSON.stringify(type)}, which the model does not accept here`,
    accepted,
  )

/** Joins consecutive turns of one role, because many templates require roles to alternate. */
function joined(turns: readonly Turn[]): GivenMessage[] {
  const all: Turn[] = []
  for (const turn of turns) {
    const last = all.at(-1)
    if (last?.role === turn.role && turn.role !== 'tool') addTo(last, turn)
    else all.push({ ...turn, content: [...turn.content] })
  }
  return all.map(({ content, ...turn }) => ({
    ...turn,
    content: contentOf(content),
  }))
}

function addTo(turn: Turn, { content, tool_calls: calls = [], reasoning, sealed = [] }: Turn): void {
  // There may be more than a call takes arguments.
  for (const piece of content) turn.content.push(piece)
  if (calls.length > 0) turn.tool_calls = [...(turn.tool_calls ?? []), ...calls]
  if (sealed.length > 0) turn.sealed = [...(turn.sealed ?? []), ...sealed]
  if (reasoning !== undefined) {
    turn.reasoning = turn.reasoning === undefined ? reasoning : `${turn.reasoning}\n${reasoning}`
  }
}

function contentOf(content: Turn['content']): GivenMessage['content'] {
  if (content.every((piece) => typeof piece === 'string'))
    return content.length > 1 ? content : (content[0] ?? '')
  return content.map((piece) => (typeof piece === 'string' ? { type: 'text', text: piece } : piece))
}
