import { blocksOf } from './blocks.ts'
import { decisionItems } from './decisions.ts'
import {
  isList,
  isNothing,
  isObject,
  itemsIn,
  type Json,
  jsonAt,
  type Members,
  memberOf,
  membersIn,
  textIn,
} from './json.ts'
import type { Message } from './message.ts'
import { isMessageList, messageOf, messagesWithin } from './messages.ts'

/** What was asked: system messages of their own, and then the messages, which are read when they are needed. */
export interface Request {
  system: Message[]
  /** Items of a list, or one text. */
  items: readonly Json[]
  /** The role of an item that is a text. */
  role: string
}

/** The conversation in the inputs of a call; undefined where there is none. */
export function inputMessages(inputs: Json | undefined): Message[] | undefined {
  const request = requestIn(inputs)
  return request && [...request.system, ...request.items.map((item) => itemMessage(request, item))]
}

export function itemMessage({ role }: Pick<Request, 'role'>, item: Json): Message {
  return textIn(item) === undefined ? messageOf(item) : { role, blocks: blocksOf(item) }
}

/** Members under which SDKs pass a request on. */
const wrappers = [
  'value',
  'inputs',
  'input',
  'kwargs',
  'args',
  'arg0',
  'request',
  'llm_request',
  'body',
  'params',
]
/** Under these a text is a question; anywhere else it may be any argument. */
const textWrappers = new Set(['value', 'inputs'])
const maxWrapped = 4

export function requestIn(json: Json | undefined, depth = 0, isText = false): Request | undefined {
  if (json === undefined || isNothing(json) || depth > maxWrapped) return undefined
  if (textIn(json) !== undefined) {
    const list = messagesWithin(json)
    if (list !== json) return requestIn(list, depth + 1)
    return isText ? { system: [], items: [json], role: 'user' } : undefined
  }
  if (isList(json)) {
    if (isMessageList(json)) return { system: [], items: messagesInPart(itemsIn(json)), role: 'user' }
    const items = itemsIn(json).filter((item) => item !== '{}')
    return depth > 0 && items.length === 1 ? requestIn(items[0], depth + 1, isText) : undefined
  }
  const members = membersIn(json)
  const system = systemIn(members)
  const items = decisionItems(members) ?? messagesOf(members)
  if (items !== undefined) return { system, items, role: 'user' }
  const prompt = members.get('prompt')
  if (prompt?.startsWith('"')) {
    // Text completions have no user.
    return { system, items: [prompt], role: depth > 0 || system.length > 0 ? 'user' : 'prompt' }
  }
  if (isObject(prompt)) return requestIn(prompt, depth + 1, true)
  for (const name of wrappers) {
    const takesText = isText || textWrappers.has(name)
    const found = members.has(name) ? requestIn(members.get(name), depth + 1, takesText) : undefined
    if (found !== undefined) return { ...found, system: [...system, ...found.system] }
  }
  const only = isText ? onlyText(members) : undefined
  if (only !== undefined) return { system, items: [only], role: 'user' }
  const isSystemOnly = members.size === 1 && members.has('system_instructions') && system.length > 0
  return isSystemOnly ? { system, items: [], role: 'user' } : undefined
}

/** OpenLLMetry writes the items of a request to the Responses API as the text of one message. */
function messagesInPart(items: readonly Json[]): readonly Json[] {
  const [only, ...others] = items.length === 1 ? itemsIn(membersIn(items[0]).get('parts')) : []
  const content = others.length === 0 ? membersIn(only).get('content') : undefined
  const list = messagesWithin(content)
  return list === content ? items : itemsIn(list)
}

function messagesOf(members: Members): readonly Json[] | undefined {
  const isOfGemini = (name: string) => name === 'contents' && members.has('model')
  for (const name of ['messages', 'input', 'contents', 'prompt', 'events', 'history', 'new_message']) {
    // Beside a model it is the text of a request to an API, whose user may write anything.
    const isPrompt = members.has('model') && (name === 'input' || name === 'prompt')
    const json = isPrompt ? members.get(name) : messagesWithin(members.get(name))
    if (isList(json)) {
      const items = itemsIn(json)
      // LangChain passes a batch, and Gemini's contents may be texts.
      const [first] = items
      if (items.length === 1 && isMessageList(first)) return itemsIn(first)
      const isTrusted = name === 'messages' || name === 'input' || isOfGemini(name)
      if (isTrusted || isMessageList(json)) return messagesInPart(items)
    } else if (json !== undefined && textIn(json) !== undefined && (name === 'input' || isOfGemini(name))) {
      return [json]
    } else if (isObject(json) && /^(contents|new_message)$/.test(name) && isMessageList(`[${json}]`))
      return [json]
  }
  return undefined
}

const systemNames = [
  'system',
  'instructions',
  'system_instructions',
  'system_instruction',
  'systemInstruction',
]

function systemIn(members: Members): Message[] {
  const json =
    memberOf(members, ...systemNames) ??
    jsonAt(members.get('config'), 'system_instruction') ??
    jsonAt(members.get('config'), 'systemInstruction')
  if (json === undefined || isNothing(json)) return []
  const blocks = membersIn(json).get('parts') ?? membersIn(json).get('content') ?? json
  const first = itemsIn(blocks)[0]
  if (membersIn(first).has('role')) return itemsIn(blocks).map(messageOf)
  return [{ role: 'system', blocks: blocksOf(blocks) }]
}

/** The only member, if it is a text; `self`, the object that a method belongs to, does not count. */
export function onlyText(members: Members): Json | undefined {
  if (members.size > 2) return undefined
  const [only, ...others] = [...members].filter(([name]) => name !== 'self')
  return only !== undefined && others.length === 0 && only[1].startsWith('"') ? only[1] : undefined
}
