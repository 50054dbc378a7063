import {
  isJson,
  isList,
  isNothing,
  isObject,
  itemsIn,
  type Json,
  type Members,
  memberOf,
  membersIn,
  textIn,
  textOf,
} from './json.ts'
import { isMediaType, mediaBlock, pictureUrl } from './media.ts'
import type { Block, ToolCall, ToolResult } from './message.ts'
import {
  callWrappers,
  isCallType,
  isResultType,
  resultContent,
  resultWrappers,
  toolCall,
  toolResult,
} from './tools.ts'

/** Results hold blocks, which may be results. What is deeper is shown as it is. */
const maxDepth = 6

/** The content of a message: a text, a block or a list of blocks. */
export function blocksOf(content: Json | undefined, depth = 0): Block[] {
  if (content === undefined || isNothing(content)) return []
  if (isList(content)) return itemsIn(content).flatMap((item) => partsWithin(item) ?? blockOf(item, depth))
  const block = blockOf(content, depth)
  return block.kind === 'text' && block.text === '' ? [] : [block]
}

/** OpenLLMetry writes the parts of a message of LangChain as the text of one part. */
function partsWithin(json: Json): Block[] | undefined {
  if (!json.includes('[{')) return undefined
  const members = membersIn(json)
  const text = textOf(members, 'type') === 'text' ? (textOf(members, 'content') ?? '') : ''
  if (!/^\[\{"type":"text","text":"/.test(text) || !isJson(text)) return undefined
  const blocks = itemsIn(text).map((item) => blockOf(item))
  return blocks.every(({ kind }) => kind !== 'other') ? blocks : undefined
}

/** What coding agents put into messages of the user and the system on their own account. */
const contextStarts =
  /^\s*(<(system-reminder|environment_context|user_instructions|INSTRUCTIONS)>|x-anthropic-billing-header|# AGENTS\.md instructions)/

export const textBlock = (text: string): Block => ({
  kind: contextStarts.test(text) ? 'context' : 'text',
  text,
})

export function blockOf(json: Json, depth = 0): Block {
  const plain = textIn(json)
  if (plain !== undefined) return textBlock(plain)
  const members = membersIn(json)
  const wrapped = members.get('message_content')
  // OpenInference has a call of Anthropic beside its empty part.
  if (isObject(wrapped) && isObject(members.get('tool_call'))) return toolCall(json)
  if (isObject(wrapped) && depth < maxDepth) return blockOf(wrapped, depth + 1)
  if (!isObject(json) || depth >= maxDepth) return { kind: 'other', json }
  const type = textOf(members, 'type') ?? ''
  const read = (content: Json) => blocksOf(content, depth + 1)
  if (/^(text|(input|output|summary)_text|refusal)$/.test(type)) return textBlock(textOfBlock(members))
  // What a program that a model wrote has printed.
  if (type === 'logs') return textBlock(textOf(members, 'logs') ?? '')
  // Of Anthropic's search of the web: it only looks like what a tool returned.
  if (type === 'web_search_result') return foundPage(members)
  // Of typed decisions.
  if (type === 'input_json') return { kind: 'document', text: members.get('data') ?? '' }
  const thought = members.get('reasoningContent')
  if (isObject(thought)) return { kind: 'thought', text: thoughtOf(membersIn(thought)) }
  if (
    /^(redacted_)?(thinking|reasoning)$/.test(type) ||
    members.get('thought') === 'true' ||
    members.has('reasoning')
  )
    return { kind: 'thought', text: thoughtOf(members) }
  if (type === 'compaction') return { kind: 'context', text: textOfBlock(members) }
  if (isResultType(type) || resultWrappers.some((name) => isObject(members.get(name))))
    return toolResult(json, read)
  if (isCallType(type) || callWrappers.some((name) => isObject(members.get(name))))
    return withOwnResult(toolCall(json), members, read)
  const isMedia =
    isMediaType(type) ||
    ['inlineData', 'inline_data', 'fileData', 'file_data', 'media'].some((name) => members.has(name))
  const media = isMedia ? mediaBlock(json) : undefined
  if (media !== undefined) return media
  const text = textOf(members, 'text')
  return text === undefined ? { kind: 'other', json } : textBlock(text)
}

/** Tools that a server of models runs itself have what they returned in the call: pictures, output of programs, an error. */
function withOwnResult(call: ToolCall, members: Members, read: (content: Json) => Block[]): ToolCall {
  const error = memberOf(members, 'error')
  const returned = memberOf(members, 'output', 'outputs', 'result', 'results')
  const json = error === undefined || isNothing(error) ? returned : error
  if (json === undefined || isNothing(json)) return call
  const picture = pictureUrl(textIn(json) ?? '')
  const content: Block[] =
    picture === undefined ? resultContent(json, read) : [{ kind: 'image', source: picture }]
  const { id, name } = call
  const result: ToolResult = {
    kind: 'result',
    ...(id !== undefined && { id }),
    name,
    ...(json === error && { isError: true }),
    content,
  }
  return { ...call, result }
}

function foundPage(members: Members): Block {
  const [title, url] = [textOf(members, 'title'), textOf(members, 'url')]
  return { kind: 'document', text: title ?? url ?? '', ...(url !== undefined && { id: url }) }
}

function textOfBlock(members: Members): string {
  return (
    textOf(members, 'text', 'content', 'refusal') ?? textIn(membersIn(members.get('text')).get('value')) ?? ''
  )
}

/** A thought is a text, or a list of texts, or hidden. */
function thoughtOf(members: Members): string {
  const text =
    textOf(members, 'thinking', 'content', 'text', 'reasoning') ??
    textIn(membersIn(members.get('reasoningText')).get('text'))
  if (text !== undefined) return text
  for (const name of ['content', 'summary']) {
    const texts = itemsIn(members.get(name)).map((item) => textOf(membersIn(item), 'text') ?? '')
    if (texts.some((line) => line !== '')) return texts.join('\n')
  }
  return ''
}

/** A document that a search found. */
export function documentBlock(json: Json): Block {
  const outer = membersIn(json)
  const members = isObject(outer.get('document')) ? membersIn(outer.get('document')) : outer
  const text = textOf(members, 'content', 'text', 'page_content', 'pageContent')
  if (text === undefined) return { kind: 'other', json }
  const id = textOf(members, 'id')
  const score = members.get('score') ?? members.get('relevance_score')
  return {
    kind: 'document',
    text,
    ...(id !== undefined && { id }),
    ...(score !== undefined && /^-?\d/.test(score) && { score }),
  }
}
