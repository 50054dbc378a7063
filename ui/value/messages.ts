import {
  type Conversation,
  conversationOf,
  inputMessages as inputMessagesOf,
  type Message,
  messageLine,
  messagesIn as messagesOf,
  outputMessages as outputMessagesOf,
  valueLine,
} from '../../packages/conversations/index.ts'
import { type JsonNode, membersOf, nodeAt, sourceOf, stringOf } from './json-index.ts'
import { previewText } from './preview-text.ts'

/** The reader of conversations, for values of this page. */

const jsonOf = (node: JsonNode | undefined) => node && sourceOf(node)

export const inputMessages = (inputs: JsonNode | undefined) => inputMessagesOf(jsonOf(inputs))
export const outputMessages = (output: JsonNode | undefined) => outputMessagesOf(jsonOf(output))
export const messagesIn = (list: JsonNode) => messagesOf(sourceOf(list))

/** The conversation of a whole call; undefined where there is none. */
export function conversationIn(call: JsonNode | undefined): Conversation | undefined {
  const [inputs, output, attributes] = ['inputs', 'output', 'attributes'].map((name) =>
    jsonOf(nodeAt(call, name)),
  )
  const name = stringOf(nodeAt(call, 'display_name')) ?? stringOf(nodeAt(call, 'op_name'))
  return conversationOf({ inputs, output, attributes, name })
}

/** The last message on one line, for lists. */
function previewOf(messages: readonly Message[] | undefined): string {
  const last = messages?.at(-1)
  return last === undefined ? '' : previewText(lineOf(messageLine(last)))
}

/** As much of a text as a row can show. */
export const lineOf = (text: string): string => text.slice(0, 400).replace(/\s+/g, ' ').trim().slice(0, 200)

/** Any value on one line. */
export function lineOfValue(node: JsonNode | undefined): string {
  if (node === undefined || node.kind === 'null') return ''
  const said = outputMessages(node) ?? inputMessages(node)
  if (said !== undefined) return previewOf(said)
  if (node.kind === 'object') return lineOf(membersLine(node))
  return lineOf(stringOf(node) ?? valueLine(sourceOf(node)))
}

/** Texts come first, since they tell rows apart, then the rest by name. */
function membersLine(node: JsonNode): string {
  const texts: string[] = []
  const others: string[] = []
  for (const { name, node: value } of membersOf(node)) {
    const text = stringOf(value)
    if (text !== undefined) texts.push(text.slice(0, 200))
    else others.push(`${name} ${valueLine(sourceOf(value)).slice(0, 60)}`)
    if (texts.length + others.length === mostMembers) break
  }
  return [...texts, ...others].join(' · ')
}

/** More do not fit on one line. */
const mostMembers = 8
