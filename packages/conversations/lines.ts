import { outputMessages } from './answers.ts'
import { isList, isObject, itemsIn, type Json, membersIn, textIn } from './json.ts'
import type { Block, Message } from './message.ts'
import { messagesWithin } from './messages.ts'
import { itemMessage, onlyText, type Request, requestIn } from './requests.ts'

/** Messages that are read from the end of a conversation to find the last words of the user. */
const maxMessages = 400

/** What was asked, as a text for lists: the last words of the user, or else of anyone. */
export function requestLine(inputs: Json, depth = 0): string | undefined {
  const request = requestIn(inputs)
  if (request === undefined) {
    const passed = depth < maxDepth ? argumentsIn(inputs) : undefined
    if (passed !== undefined) return argumentLine(passed, depth)
    const only = onlyText(membersIn(inputs))
    return only === undefined ? valueLine(inputs) : textIn(only)
  }
  const ofUser = (message: Message) => (/^(user|prompt)$/.test(message.role) ? wordsOf(message) : '')
  return lastLine(request, ofUser) ?? lastLine(request, messageLine) ?? ''
}

type Argument = readonly [name: string, value: Json]

/** OpenLLMetry writes the arguments of a function of Python, and those of LangChain beside its settings. */
function argumentsIn(inputs: Json): Argument[] | undefined {
  const members = membersIn(inputs)
  const [args, kwargs, inner] = ['args', 'kwargs', 'inputs'].map((name) => members.get(name))
  if (members.size === 2 && isList(args) && isObject(kwargs))
    return [...itemsIn(args).map((item): Argument => ['', item]), ...membersIn(kwargs)]
  const isOfLangChain = isObject(inner) && members.has('tags') && members.has('metadata')
  return isOfLangChain ? [...membersIn(inner)] : undefined
}

/** The names of a question, as most functions have them. */
const questionNames = ['question', 'query', 'prompt', 'message', 'input', 'text']
/** What Python shows of an object without a text, such as the one that a method belongs to. */
const objectAddress = /^<[\w.]+ object at 0x[\da-f]+>$/i

function argumentLine(passed: readonly Argument[], depth: number): string | undefined {
  const told = passed.filter(([, value]) => !objectAddress.test(textIn(value) ?? ''))
  const texts = told.filter(([, value]) => textIn(value))
  const byName = questionNames.map((name) => texts.find((text) => text[0] === name)).find(Boolean)
  const question = byName ?? (texts.length === 1 ? texts[0] : undefined)
  if (question !== undefined) return textIn(question[1])
  const [only, ...others] = told
  if (only !== undefined && others.length === 0) return requestLine(only[1], depth + 1)
  return told.map(([name, value]) => `${name && `${name}: `}${valueLine(value, 1)}`).join(' · ')
}

function lastLine(request: Request, read: (message: Message) => string): string | undefined {
  const { system, items } = request
  const first = Math.max(0, items.length - maxMessages)
  for (let at = items.length - 1; at >= first; at--) {
    const line = read(itemMessage(request, items[at] as Json))
    if (line !== '') return line
  }
  return system.map(read).find((line) => line !== '')
}

/** What was answered, as a text for lists: the first choice, or the last message. */
export function answerLine(output: Json): string | undefined {
  const text = textIn(output)
  if (text !== undefined && messagesWithin(output) === output) return text
  if (output === 'null') return undefined
  const messages = outputMessages(output)
  if (messages === undefined) {
    const only = onlyText(membersIn(output))
    return only === undefined ? valueLine(output) : textIn(only)
  }
  const [first] = messages
  if (first?.choice !== undefined) return messageLine(first)
  const asked = messages.findLastIndex(({ role }) => role === 'user')
  const latestFirst = messages.slice(asked + 1).reverse()
  // The calls of an answer may be messages of their own behind its words.
  const words = latestFirst.filter(({ role }) => role !== 'tool').map((message) => wordsOf(message))
  const lines = [...latestFirst, ...messages.toReversed()].map((message) => messageLine(message))
  return [...words, ...lines].find((line) => line !== '') ?? ''
}

/** The words of a message; its calls where it has none. */
export function messageLine(message: Message, between = ' '): string {
  return wordsOf(message, between) || message.blocks.map(blockLine).filter(Boolean).join(between)
}

export function wordsOf({ blocks }: Message, between = ' '): string {
  const words = blocks.flatMap((block) =>
    block.kind === 'text' || block.kind === 'document' ? block.text : [],
  )
  return words.filter(Boolean).join(between)
}

function blockLine(block: Block): string {
  switch (block.kind) {
    case 'call':
      return `${block.name}(${block.input})`
    case 'result':
      return block.content.map(blockLine).join(' ')
    case 'text':
    case 'document':
      return block.text
    case 'file':
      return `[file ${block.name}]`
    case 'image':
    case 'stored':
      return '[picture]'
    case 'data':
      return valueLine(block.json)
    default:
      return ''
  }
}

/** More do not fit on one line. */
const maxMembers = 8
const maxWords = 200
const maxDepth = 3

/** Any value on one line: members with their names, texts without quotes. */
export function valueLine(json: Json, depth = 0): string {
  const text = textIn(json)
  if (text !== undefined) return text.slice(0, maxWords)
  if (json.startsWith('{')) {
    const members = [...membersIn(json)]
    if (depth === maxDepth) return `${members.length} members`
    const shown = members
      .slice(0, maxMembers)
      .map(([name, value]) => `${name}: ${valueLine(value, depth + 1)}`)
    return shown.join(depth === 0 ? ' · ' : ', ')
  }
  if (json[0] !== '[') return json.slice(0, maxWords)
  const items = itemsIn(json)
  if (depth === maxDepth) return `${items.length} items`
  return items
    .slice(0, maxMembers)
    .map((item) => valueLine(item, depth + 1))
    .join(', ')
}

/** The whole text of one message. */
export const textOfMessage = ({ blocks }: Message): string => blocks.map(textOfBlock).join('\n\n')

function textOfBlock(block: Block): string {
  switch (block.kind) {
    case 'text':
    case 'context':
    case 'document':
      return block.text
    case 'thought':
      return `[thought] ${block.text}`
    case 'call': {
      const line = `[calls] ${block.name}(${block.input})`
      return block.result === undefined ? line : `${line}\n\n${textOfBlock(block.result)}`
    }
    case 'result':
      return `[result] ${block.content.map(textOfBlock).join('\n\n')}`
    case 'image':
      return `[picture] ${block.source}`
    case 'stored':
      return `[picture] ${block.file}`
    case 'file':
      return `[file] ${block.name}`
    case 'data':
    case 'other':
      return block.json
  }
}
