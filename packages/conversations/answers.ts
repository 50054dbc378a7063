import { blocksOf, documentBlock, textBlock } from './blocks.ts'
import { decisionBlocks } from './decisions.ts'
import {
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
import type { Block, Message } from './message.ts'
import { isMessageList, messageOf, messagesIn, messagesWithin } from './messages.ts'
import { completedResponse, streamedMessages } from './streams.ts'
import { toolCall } from './tools.ts'

const maxWrapped = 4

/** The answer of a call, if it is a message; several where it has choices or items. */
export function outputMessages(output: Json | undefined, depth = 0): Message[] | undefined {
  if (output === undefined || isNothing(output) || depth > maxWrapped) return undefined
  if (textIn(output) !== undefined) {
    const list = messagesWithin(output)
    if (list !== output) return outputMessages(list, depth + 1)
    return depth > 0 ? [{ role: 'assistant', blocks: blocksOf(output) }] : undefined
  }
  if (isList(output)) return listedMessages(output, depth)
  const members = membersIn(output)
  const choices = memberOf(members, 'choices', 'candidates')
  if (isList(choices)) return numbered(itemsIn(choices).map(choiceOf))
  const items = members.get('output')
  if (isList(items) && (isMessageList(items) || members.has('object') || members.get('output') === '[]'))
    return messagesIn(items)
  const messages = messagesWithin(members.get('messages'))
  if (isList(messages) && isMessageList(messages)) return messagesIn(messages)
  const generations = members.get('generations')
  if (isList(generations)) {
    return numbered(
      itemsIn(generations)
        .flatMap((batch) => (isList(batch) ? itemsIn(batch) : [batch]))
        .map(choiceOf),
    )
  }
  if (saysSomething(members.get('content'))) return [choiceOf(output)]
  if (isMessage(members)) return [messageOf(output)]
  const answered = answeredBlocks(members) ?? decisionBlocks(members)
  if (answered !== undefined) return [{ role: 'assistant', blocks: answered }]
  return failed(members) ?? wrappedMessages(members, depth)
}

function isMessage(members: Members): boolean {
  if (members.has('lc') || (members.has('role') && (members.has('content') || members.has('parts'))))
    return true
  // Ollama's answer, and LangChain's.
  return (
    saysSomething(members.get('message')) ||
    (members.has('content') && /^(ai|AIMessage(Chunk)?)$/.test(textOf(members, 'type') ?? ''))
  )
}

function saysSomething(json: Json | undefined): boolean {
  const members = membersIn(json)
  return members.has('role') || members.has('parts')
}

function choiceOf(json: Json): Message {
  const members = membersIn(json)
  const text = textIn(members.get('text'))
  const inner = [members.get('message'), members.get('delta'), members.get('content')].find(isObject)
  if (inner === undefined) {
    const { role, blocks, ending } = messageOf(json)
    if (role !== 'unknown') return { role, blocks, ...(ending !== undefined && { ending }) }
    return {
      role: 'answer',
      blocks: text === undefined ? blocks : blocksOf(members.get('text')),
      ...(ending !== undefined && { ending }),
    }
  }
  const { ending } = messageOf(json)
  const message = messageOf(inner)
  return {
    ...message,
    role: message.role === 'unknown' ? 'assistant' : message.role,
    ...(ending !== undefined && { ending }),
  }
}

/** Choices are alternatives. */
const numbered = (messages: Message[]): Message[] =>
  messages.length < 2 ? messages : messages.map((message, index) => ({ ...message, choice: index + 1 }))

function listedMessages(list: Json, depth: number): Message[] | undefined {
  const items = itemsIn(list)
  const response = completedResponse(items)
  if (response !== undefined) {
    const found = outputMessages(response, depth + 1)
    if (found !== undefined && found.length > 0) return found
  }
  const streamed = streamedMessages(items)
  if (streamed !== undefined) return numbered(streamed)
  if (isMessageList(list)) {
    const messages = messagesIn(list).map(answerLast)
    // In OpenTelemetry's conventions each message of the output is a choice.
    const isChoices = items.every(
      (item) => membersIn(item).has('parts') || textOf(membersIn(item), 'event.name') === 'gen_ai.choice',
    )
    return isChoices ? numbered(messages) : messages
  }
  if (items.length > 0 && items.every((item) => membersIn(item).has('toolName')))
    return [{ role: 'assistant', blocks: items.map(toolCall) }]
  if (items.length > 0 && items.every(isRoleless)) {
    return items.map((item) => ({ ...messageOf(item), role: 'assistant' }))
  }
  if (isDocumentList(items)) return [{ role: 'documents', blocks: items.map(documentBlock) }]
  return items.length === 1 && depth > 0 ? outputMessages(items[0], depth + 1) : undefined
}

/** The Vercel AI SDK has the calls of all steps, and what they returned, behind the answer of the last step. */
function answerLast(message: Message): Message {
  const isRun = ({ kind }: Block) => kind === 'call' || kind === 'result'
  const { blocks } = message
  if (message.role !== 'assistant' || blocks.at(-1)?.kind !== 'result') return message
  return { ...message, blocks: [...blocks.filter(isRun), ...blocks.filter((block) => !isRun(block))] }
}

/** OpenLLMetry names no role in the answers of text completions. */
const isRoleless = (item: Json): boolean => {
  const members = membersIn(item)
  const isKnown = members.keys().every((name) => name === 'content' || name === 'finish_reason')
  return isKnown && textOf(members, 'content') !== undefined
}

const isDocumentList = (items: readonly Json[]): boolean => {
  const members = membersIn(items[0])
  return (
    isObject(members.get('document')) ||
    members.has('page_content') ||
    members.has('pageContent') ||
    (members.has('content') && members.has('score'))
  )
}

const ofOneAnswer = new Set([
  'text',
  'reasoning',
  'reasoningText',
  'object',
  'toolCalls',
  'files',
  'sources',
  'warnings',
])

/** The Vercel AI SDK, and Mastra with it, writes one answer under several names. */
function answeredBlocks(members: Members): Block[] | undefined {
  const calls = memberOf(members, 'toolCalls', 'tool_calls')
  const [reasoning, text] = [textOf(members, 'reasoning', 'reasoningText'), textOf(members, 'text')]
  const isWhole =
    members.has('finishReason') || (members.size > 1 && members.keys().every((name) => ofOneAnswer.has(name)))
  const [object, files] = [members.get('object'), members.get('files')]
  const isPictured = members.size === 1 && itemsIn(files).some((file) => membersIn(file).has('mediaType'))
  if (!isList(calls) && !isPictured && (text === undefined || !isWhole)) return undefined
  const called = itemsIn(calls).map(toolCall)
  // Mastra has the calls of all steps with the answer of the last one.
  const isOfSteps = members.has('reasoningText') && text
  return [
    ...(isOfSteps ? called : []),
    ...(reasoning ? [{ kind: 'thought' as const, text: reasoning }] : []),
    ...(text ? [textBlock(text)] : []),
    ...(isObject(object) || isList(object) ? [{ kind: 'data' as const, json: object }] : []),
    ...(isOfSteps ? [] : called),
    ...(isList(files) ? blocksOf(files) : []),
    ...['sources', 'warnings'].flatMap((name) => {
      const json = members.get(name)
      return isList(json) && json !== '[]' ? [{ kind: 'data' as const, json }] : []
    }),
  ]
}

/** An error in place of an answer, as servers of models write it. */
function failed(members: Members): Message[] | undefined {
  const error = membersIn(members.get('error'))
  const text = members.size === 1 ? textIn(members.get('error')) : undefined
  const message = error.has('type') || error.has('code') ? textOf(error, 'message') : text
  return message === undefined ? undefined : [{ role: 'error', blocks: [textBlock(message)] }]
}

/** Members under which SDKs return an answer. A text that an op returns under the others is no message. */
// The last is the command of a graph of LangChain.
const wrappers = [
  'outputs',
  'value',
  'response',
  'result',
  'return_value',
  'output',
  'final_output',
  'update',
]

function wrappedMessages(members: Members, depth: number): Message[] | undefined {
  for (const name of wrappers) {
    if (name === 'update' && !members.has('goto')) continue
    const json = messagesWithin(members.get(name))
    if (
      json === undefined ||
      (textIn(json) !== undefined && (members.size > 1 || (depth === 0 && name !== 'outputs')))
    )
      continue
    const found = outputMessages(json, depth + 1)
    if (found !== undefined) return found
  }
  const [only] = members.values()
  return depth > 0 && members.size === 1 && textIn(only) !== undefined
    ? outputMessages(only, depth)
    : undefined
}
