import { type JsonNode, membersOf, nodeAt, sourceOf, stringOf } from './json-index.ts'

/** A message, in the formats of OpenAI, Anthropic and the conventions of OpenTelemetry. */
export interface Message {
  role: string
  name?: string
  parts: MessagePart[]
}

export type MessagePart =
  | { kind: 'text'; text: string }
  | { kind: 'thought'; text: string }
  | { kind: 'call'; id?: string; name: string; input: JsonNode | string }
  | { kind: 'result'; id?: string; content: MessagePart[] }
  | { kind: 'image'; source: string }
  | { kind: 'other'; node: JsonNode }

/** The conversation in the inputs of a call; undefined where there is none. */
export function inputMessages(inputs: JsonNode | undefined): Message[] | undefined {
  const messages: Message[] = []
  const system = nodeAt(inputs, 'system') ?? nodeAt(inputs, 'instructions')
  if (system !== undefined && system.kind !== 'null')
    messages.push({ role: 'system', parts: partsOf(system) })
  const given = nodeAt(inputs, 'messages') ?? nodeAt(inputs, 'input')
  const prompt = nodeAt(inputs, 'prompt')
  if (given?.kind === 'array') messages.push(...messagesIn(given))
  else if (given?.kind === 'string') messages.push({ role: 'user', parts: partsOf(given) })
  else if (prompt?.kind === 'string') messages.push({ role: 'prompt', parts: partsOf(prompt) })
  else return undefined
  return messages
}

/** The answer of a call, if it is a message. */
export function outputMessages(output: JsonNode | undefined): Message[] | undefined {
  const choices = nodeAt(output, 'choices')
  if (choices?.kind === 'array') {
    return [...membersOf(choices)].map(({ node }) => {
      const message = nodeAt(node, 'message') ?? nodeAt(node, 'delta')
      const text = nodeAt(node, 'text')
      return message ? messageOf(message) : { role: 'answer', parts: text ? partsOf(text) : [] }
    })
  }
  const items = nodeAt(output, 'output')
  if (items?.kind === 'array') return messagesIn(items)
  const content = nodeAt(output, 'content')
  if (content !== undefined && nodeAt(output, 'role') !== undefined && output) return [messageOf(output)]
  return undefined
}

/** The message in each member of a list. */
export const messagesIn = (list: JsonNode): Message[] =>
  [...membersOf(list)].map(({ node }) => messageOf(node))

function messageOf(node: JsonNode): Message {
  const type = stringOf(nodeAt(node, 'type'))
  // Items of the Responses API that are not messages.
  if (type !== undefined && type !== 'message') {
    const role = type === 'function_call_output' ? 'tool' : 'assistant'
    return { role, parts: [partOf(node)] }
  }
  const role = stringOf(nodeAt(node, 'role')) ?? 'unknown'
  const name = stringOf(nodeAt(node, 'name'))
  const thought = stringOf(nodeAt(node, 'reasoning')) ?? stringOf(nodeAt(node, 'reasoning_content'))
  const content = nodeAt(node, 'content') ?? nodeAt(node, 'parts')
  const said = content === undefined ? [] : partsOf(content)
  const answered = stringOf(nodeAt(node, 'tool_call_id'))
  const calls = nodeAt(node, 'tool_calls')
  const older = nodeAt(node, 'function_call')
  return {
    role,
    ...(name !== undefined && { name }),
    parts: [
      ...(thought ? [{ kind: 'thought' as const, text: thought }] : []),
      ...(answered === undefined ? said : [{ kind: 'result' as const, id: answered, content: said }]),
      ...(calls?.kind === 'array' ? [...membersOf(calls)].map((one) => callOf(one.node)) : []),
      ...(older?.kind === 'object' ? [callOf(older)] : []),
    ],
  }
}

function callOf(node: JsonNode): MessagePart {
  const called = nodeAt(node, 'function') ?? node
  const id = stringOf(nodeAt(node, 'id')) ?? stringOf(nodeAt(node, 'call_id'))
  const given = nodeAt(called, 'arguments') ?? nodeAt(called, 'input')
  return {
    kind: 'call',
    ...(id !== undefined && { id }),
    name: stringOf(nodeAt(called, 'name')) ?? 'unknown',
    input: given === undefined ? '' : (stringOf(given) ?? given),
  }
}

function partsOf(content: JsonNode): MessagePart[] {
  if (content.kind === 'null') return []
  const text = stringOf(content)
  if (text !== undefined) return text === '' ? [] : [{ kind: 'text', text }]
  if (content.kind === 'array') return [...membersOf(content)].map(({ node }) => partOf(node))
  return [{ kind: 'other', node: content }]
}

function partOf(node: JsonNode): MessagePart {
  const plain = stringOf(node)
  if (plain !== undefined) return { kind: 'text', text: plain }
  const member = (name: string) => stringOf(nodeAt(node, name))
  switch (member('type')) {
    case 'text':
    case 'input_text':
    case 'output_text':
    case 'refusal':
      return { kind: 'text', text: member('text') ?? member('content') ?? member('refusal') ?? '' }
    case 'thinking':
      return { kind: 'thought', text: member('thinking') ?? '' }
    case 'reasoning':
      return {
        kind: 'thought',
        text: member('text') ?? textsOf(nodeAt(node, 'content'), nodeAt(node, 'summary')),
      }
    case 'tool_use':
    case 'tool_call':
    case 'function_call':
      return callOf(node)
    case 'tool_result':
    case 'function_call_output': {
      const content = nodeAt(node, 'content') ?? nodeAt(node, 'output')
      const id = member('tool_use_id') ?? member('call_id')
      return { kind: 'result', ...(id !== undefined && { id }), content: content ? partsOf(content) : [] }
    }
    case 'image_url':
    case 'input_image':
    case 'image': {
      const source =
        stringOf(nodeAt(node, 'image_url', 'url')) ??
        member('image_url') ??
        stringOf(nodeAt(node, 'source', 'url')) ??
        dataAt(node)
      return source === undefined ? { kind: 'other', node } : { kind: 'image', source }
    }
    default: {
      const text = member('text')
      return text === undefined ? { kind: 'other', node } : { kind: 'text', text }
    }
  }
}

function dataAt(node: JsonNode): string | undefined {
  const data = stringOf(nodeAt(node, 'source', 'data'))
  const type = stringOf(nodeAt(node, 'source', 'media_type'))
  return data === undefined || type === undefined ? undefined : `data:${type};base64,${data}`
}

function textsOf(...lists: (JsonNode | undefined)[]): string {
  for (const list of lists) {
    if (list?.kind !== 'array') continue
    const texts = [...membersOf(list)].map(({ node }) => stringOf(nodeAt(node, 'text')) ?? '')
    if (texts.some((text) => text !== '')) return texts.join('\n')
  }
  return ''
}

/** The text on one line, for lists. */
export function previewOf(messages: readonly Message[] | undefined, role?: string): string {
  const chosen = role === undefined ? messages : messages?.filter((one) => one.role === role)
  const texts = chosen?.at(-1)?.parts.map((part) => {
    if (part.kind === 'text') return part.text
    if (part.kind === 'call')
      return `${part.name}(${typeof part.input === 'string' ? part.input : sourceOf(part.input)})`
    return ''
  })
  return lineOf(texts?.filter((text) => text !== '').join(' ') ?? '')
}

/** The whole text of one message. */
export const textOfMessage = ({ parts }: Message): string => parts.map(textOfPart).join('\n\n')

function textOfPart(part: MessagePart): string {
  switch (part.kind) {
    case 'text':
      return part.text
    case 'thought':
      return `[thought] ${part.text}`
    case 'call':
      return `[calls] ${part.name}(${typeof part.input === 'string' ? part.input : sourceOf(part.input)})`
    case 'result':
      return `[result] ${part.content.map(textOfPart).join('\n\n')}`
    case 'image':
      return `[picture] ${part.source}`
    case 'other':
      return sourceOf(part.node)
  }
}

/** As much of a text as a row can show. */
export const lineOf = (text: string): string => text.slice(0, 400).replace(/\s+/g, ' ').trim().slice(0, 200)
