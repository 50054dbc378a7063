import type { GivenMessage, GivenPart, GivenToolCall } from '../../../packages/chat-format/index.ts'
import type { JsonText } from '../../domain/json/text.ts'
import type { PictureCheck } from '../../domain/pictures/check.ts'
import { wrong } from '../../domain/refusals.ts'
import type { ContentBlock, ResultBlock } from './fields.ts'
import { isForeign, thoughtOf } from './signature.ts'

/** Of one role, as templates know it, and in blocks for a server with the same API. */
export interface Turn extends GivenMessage {
  content: (string | GivenPart)[]
  tool_calls?: GivenToolCall[]
  reasoning?: string
  blocks: GivenPart[]
}

export const turnOfTexts = (role: string, blocks: GivenPart[]): Turn => ({
  role,
  content: textsIn(blocks),
  blocks,
})

/** Pictures of results come in the user's turn after all results: few servers take them in a result. */
export function userTurns(
  blocks: readonly ContentBlock[],
  path: string,
  check: PictureCheck | undefined,
): Turn[] {
  const results: Turn[] = []
  const shown: GivenPart[] = []
  const pictures = check && { shown, check }
  const turn: Turn = { role: 'user', content: [], blocks: [] }
  const accepted = check ? 'text, image, tool_result' : 'text, tool_result'
  for (const [index, block] of blocks.entries()) {
    const at = `${path}.${index}`
    if (block.type === 'text') addText(turn, block, at)
    else if (block.type === 'image' && check) {
      const picture = pictureOf(block, at, check)
      turn.content.push(picture)
      turn.blocks.push({ ...picture, ...markOf(block) })
    } else if (block.type === 'tool_result') results.push(resultOf(block, at, pictures))
    else throw wrongType(block, at, accepted)
  }
  const content = [...shown, ...turn.content]
  return results.length > 0 && content.length === 0 ? results : [...results, { ...turn, content }]
}

export function assistantTurn(blocks: readonly ContentBlock[], path: string): Turn {
  const turn: Turn = { role: 'assistant', content: [], blocks: [] }
  const calls: GivenToolCall[] = []
  const thoughts: string[] = []
  for (const [index, block] of blocks.entries()) {
    const at = `${path}.${index}`
    const { type, thinking, signature, data, id, name, input } = block
    switch (type) {
      case 'text':
        addText(turn, block, at)
        break
      case 'tool_use':
        calls.push(callOf(block, at))
        turn.blocks.push({ type, id, name, input, ...markOf(block) })
        break
      // Another server refuses thoughts that it has not sealed.
      case 'thinking':
        thoughts.push(givenThought(block, at))
        if (isForeign(signature)) turn.blocks.push({ type, thinking: thinking ?? '', signature })
        break
      // Only the server that sealed it can read it.
      case 'redacted_thinking':
        if (data) turn.blocks.push({ type, data })
        break
      default:
        throw wrongType(block, at, 'text, tool_use, thinking, redacted_thinking')
    }
  }
  return {
    ...turn,
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(thoughts.length > 0 && { reasoning: thoughts.join('\n') }),
  }
}

/** Gets the pictures of results, each checked. */
interface ResultPictures {
  shown: GivenPart[]
  check: PictureCheck
}

/** Without `pictures`, those of the result are refused. */
function resultOf(block: ContentBlock, path: string, pictures: ResultPictures | undefined): Turn {
  const { type, tool_use_id: id, is_error } = block
  if (id == null) throw missing(`${path}.tool_use_id`, 'the id of a tool_use block')
  const content = textBlocksOf(block.content ?? [], `${path}.content`, pictures)
  const texts = textsIn(content)
  return {
    role: 'tool',
    tool_call_id: id,
    content: is_error ? asError(texts) : texts,
    blocks: [{ type, tool_use_id: id, content, ...(is_error && { is_error: true }), ...markOf(block) }],
  }
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

/** Of a text, or of a list of texts and, with `pictures`, of pictures. */
export function textBlocksOf(
  content: string | readonly ResultBlock[],
  path: string,
  pictures?: ResultPictures,
): GivenPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return content.flatMap((block, index) => {
    const at = `${path}.${index}`
    if (block.type === 'text') return textBlock(block, at)
    if (block.type !== 'image' || !pictures) throw wrongType(block, at, pictures ? 'text, image' : 'text')
    const picture = pictureOf(block, at, pictures.check)
    pictures.shown.push(picture)
    return [{ ...picture, ...markOf(block) }]
  })
}

const textsIn = (blocks: readonly GivenPart[]): string[] =>
  blocks.flatMap(({ text }) => (typeof text === 'string' ? [text] : []))

function addText(turn: Turn, block: ResultBlock, path: string): void {
  const blocks = textBlock(block, path)
  turn.blocks.push(...blocks)
  turn.content.push(...textsIn(blocks))
}

function textBlock(block: ResultBlock, path: string): GivenPart[] {
  const { text } = block
  if (text == null) throw missing(`${path}.text`, 'a string')
  return text === '' ? [] : [{ type: 'text', text, ...markOf(block) }]
}

/** A picture in the form of chat completions. */
function pictureOf({ source }: ResultBlock, path: string, check: PictureCheck): GivenPart {
  const { type, media_type, data, url } = typeof source === 'string' ? {} : (source ?? {})
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

/** How far to cache. */
const markOf = ({ cache_control }: ResultBlock) => (cache_control == null ? {} : { cache_control })

const missing = (field: string, accepted: string) => wrong(field, 'nothing', accepted)

const wrongType = ({ type }: { type: string }, path: string, accepted: string) =>
  wrong(
    `${path}.type`,
    `a block of type ${JSON.stringify(type)}, which the model does not accept here`,
    accepted,
  )
