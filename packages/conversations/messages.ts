import { compactJson } from '../json/index.ts'
import { blockOf, blocksOf, textBlock } from './blocks.ts'
import {
  isJson,
  isList,
  isObject,
  itemsIn,
  type Json,
  jsonAt,
  type Members,
  memberOf,
  membersIn,
  textIn,
  textOf,
} from './json.ts'
import { type Block, type Message, roleOf, type ToolCall } from './message.ts'
import { flatCall, isCallType, isResultType, resultContent, saysFailed, toolCall } from './tools.ts'

/** The message in each item of a list. */
export const messagesIn = (list: Json): Message[] => itemsIn(list).map(messageOf)

/** OpenInference wraps each of the two texts of a completion, and nothing is beside it. */
function completionIn(members: Members): Json | undefined {
  const inner = members.size === 1 ? memberOf(members, 'prompt', 'completion') : undefined
  return isObject(inner) && textOf(membersIn(inner), 'text') !== undefined ? inner : undefined
}

/** Whether a list of values is one of messages, rather than of anything else. */
export function isMessageList(json: Json | undefined): boolean {
  const [first] = itemsIn(json)
  const members = membersIn(first)
  const type = textOf(members, 'type') ?? ''
  return (
    ['role', 'lc', 'parts', 'event.name', 'contents'].some((name) => members.has(name)) ||
    isObject(members.get('message')) ||
    completionIn(members) !== undefined ||
    (members.has('content') && roleOf(type) !== type) ||
    (type !== '' &&
      (isCallType(type) || isResultType(type) || type === 'reasoning') &&
      !members.has('choices'))
  )
}

/** A longer text is not parsed to find out what is in it. */
const maxText = 1 << 20

/** A list of messages that was written as a text; anything else as it is. */
export function messagesWithin(json: Json | undefined): Json | undefined {
  if (!json?.startsWith('"[') || json.length > maxText) return json
  const text = textIn(json) ?? ''
  if (!/^\[\s*\{/.test(text) || !isJson(text)) return json
  const list = compactJson(text)
  return isMessageList(list) ? list : json
}

/** Reasons of an answer's end that need no mention. */
const ordinaryEndings = new Set([
  '',
  'stop',
  'end_turn',
  'tool_calls',
  'tool_call',
  'tool_use',
  'tool-calls',
  'completed',
  'unknown',
])

export const isOrdinaryEnding = (ending: string): boolean => ordinaryEndings.has(ending.toLowerCase())

export function messageOf(json: Json): Message {
  const text = textIn(json)
  if (text !== undefined) return { role: 'unknown', blocks: text === '' ? [] : [textBlock(text)] }
  const pair = pairIn(json)
  if (pair !== undefined) return pair
  const outer = membersIn(json)
  if (outer.size === 0)
    return { role: 'unknown', blocks: json === 'null' || json === '{}' ? [] : [{ kind: 'other', json }] }
  const role = roleIn(outer)
  const inner = innerOf(outer)
  const ending = endingOf(outer)
  if (inner !== undefined) {
    const message = messageOf(inner)
    return { ...message, ...(message.role === 'unknown' && role && { role }), ...ending }
  }
  const type = textOf(outer, 'type') ?? ''
  // Items of the Responses API that are not messages.
  if (role === undefined && type !== '' && type !== 'message') {
    return { role: isResultType(type) ? 'tool' : 'assistant', blocks: [blockOf(json)] }
  }
  const name = textOf(outer, 'name')
  const isNamed = name !== undefined && name !== '' && role !== 'tool'
  const content = contentOf(outer, role)
  const shown = new Set(content.map((block) => (block.kind === 'call' ? block.id : undefined)))
  // Some have a call in the content and again in a list of calls.
  const calls = callsOf(outer).filter(({ id }) => id === undefined || !shown.has(id))
  return {
    role: role ?? 'unknown',
    ...(isNamed && { name }),
    blocks: [...thoughtsOf(outer), ...content, ...calls],
    ...ending,
  }
}

/** LangChain takes a role and a text instead of a message. */
function pairIn(json: Json): Message | undefined {
  const [speaker, text, ...others] = itemsIn(json)
  const role = roleOf(textIn(speaker) ?? '')
  const isPair = others.length === 0 && textIn(text) !== undefined && /^(system|user|assistant)$/.test(role)
  return isPair ? { role, blocks: blocksOf(text) } : undefined
}

/** OpenInference, choices and LangChain wrap the message. */
function innerOf(outer: Members): Json | undefined {
  if (outer.has('lc')) return outer.get('kwargs')
  if (outer.has('role') && outer.has('content')) return undefined
  const inner =
    memberOf(outer, 'message', 'delta') ??
    completionIn(outer) ??
    (outer.has('type') ? outer.get('data') : undefined)
  return isObject(inner) ? inner : undefined
}

const speakers = /^(system|developer|user|assistant|tool)$/

function roleIn(members: Members): string | undefined {
  const role = roleOf(textOf(members, 'role') ?? '')
  // Langfuse has the name of a tool of LangChain as the role of its result.
  if (role) return members.has('additional_kwargs') && !speakers.test(role) ? 'tool' : role
  const named = textOf(members, 'event.name')
  const [, event] = /^gen_ai\.(system|user|assistant|tool)\.message$/.exec(named ?? '') ?? []
  if (event !== undefined) return event
  const isCompletion = completionIn(members) !== undefined
  if (named === 'gen_ai.choice' || (isCompletion && members.has('completion'))) return 'assistant'
  if (isCompletion) return 'prompt'
  // LangChain has the kind of a message in its type, or in the name of its class.
  const type = textIn(itemsIn(members.get('id')).at(-1)) ?? textOf(members, 'type')
  if (type === undefined) return undefined
  const word = roleOf(type)
  const isRole = word !== type || /^(system|user|assistant|tool|developer)(message)?$/i.test(type)
  return isRole ? word.toLowerCase().replace(/message$/, '') : undefined
}

function endingOf(members: Members): { ending?: string } {
  const ending = textOf(members, 'finish_reason', 'stop_reason', 'finishReason')
  return ending === undefined || isOrdinaryEnding(ending) ? {} : { ending }
}

function thoughtsOf(members: Members): Block[] {
  const text =
    textOf(members, 'reasoning', 'reasoning_content') ??
    textIn(jsonAt(members.get('additional_kwargs'), 'reasoning_content'))
  return text ? [{ kind: 'thought', text }] : []
}

function contentOf(members: Members, role: string | undefined): Block[] {
  const content =
    memberOf(members, 'contents', 'content', 'parts', 'text') ??
    // The event of a choice; other messages were unwrapped before.
    (textOf(members, 'event.name') === 'gen_ai.choice' ? members.get('message') : undefined)
  const id =
    textOf(members, 'tool_call_id', 'toolCallId') ?? (role === 'tool' ? textOf(members, 'id') : undefined)
  if (id === undefined && role !== 'tool') {
    const more = textOf(members, 'refusal') ?? textIn(jsonAt(members.get('audio'), 'transcript'))
    return more ? [...blocksOf(content), textBlock(more)] : blocksOf(content)
  }
  const blocks = resultContent(content, blocksOf)
  if (blocks.some(({ kind }) => kind === 'result')) return blocks
  const speaker = textOf(members, 'role')
  const name = textOf(members, 'name') ?? (speaker === 'tool' ? undefined : speaker)
  const named = { ...(id !== undefined && { id }), ...(name !== undefined && { name }) }
  return [{ kind: 'result', ...named, ...(saysFailed(members) && { isError: true }), content: blocks }]
}

function callsOf(members: Members): ToolCall[] {
  const calls =
    memberOf(members, 'tool_calls', 'toolCalls') ?? jsonAt(members.get('additional_kwargs'), 'tool_calls')
  const older = members.get('function_call')
  return [
    ...(isList(calls) ? itemsIn(calls).map(toolCall) : []),
    ...(isObject(older) ? [toolCall(older)] : []),
    ...flatCall(members),
  ]
}
