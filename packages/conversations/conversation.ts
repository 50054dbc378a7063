import { outputMessages } from './answers.ts'
import { isNothing, type Json, jsonAt, membersIn, textIn } from './json.ts'
import { textOfMessage } from './lines.ts'
import type { Message, Part, ToolCall, ToolResult } from './message.ts'
import { partsOf } from './parts.ts'
import { inputMessages } from './requests.ts'

export interface Conversation {
  asked: Message[]
  answered: Message[]
}

interface CallJson {
  inputs: Json | undefined
  output: Json | undefined
  attributes?: Json | undefined
  /** The name of the call, for a tool that has none. */
  name?: string | undefined
}

/** The conversation of a call, whichever convention recorded it; undefined where there is none. */
export function conversationOf({ inputs, output, attributes, name }: CallJson): Conversation | undefined {
  const tool = toolOf(attributes, name ?? 'tool')
  if (tool !== undefined) return toolRun(tool, inputs, output)
  const asked = inputMessages(inputs)
  const answered = outputMessages(output)
  if (asked === undefined && answered === undefined) return undefined
  return withoutRepeats({
    asked: asked ?? shownAsIs('input', inputs),
    answered: answered ?? answerAsIs(output),
  })
}

function shownAsIs(role: string, json: Json | undefined): Message[] {
  return json === undefined || isNothing(json) || json === '{}'
    ? []
    : [{ role, parts: [{ kind: 'other', json }] }]
}

function answerAsIs(output: Json | undefined): Message[] {
  return textIn(output) === undefined
    ? shownAsIs('output', output)
    : [{ role: 'assistant', parts: partsOf(output) }]
}

/** Where the conventions say that a span is the run of a tool, and what they write there. */
const toolMarks: readonly [path: readonly string[], pattern: RegExp][] = [
  [['gen_ai', 'operation', 'name'], /^execute_tool$/],
  [['openinference', 'span', 'kind'], /^TOOL$/i],
  [['ai', 'operationId'], /^ai\.toolCall$/],
  [['traceloop', 'span', 'kind'], /^tool$/],
  [['langfuse', 'observation', 'type'], /^tool$/i],
  [['langsmith', 'span', 'kind'], /^tool$/],
  [['mlflow', 'spanType'], /^"?TOOL"?$/],
  [['span', 'type'], /^tool$/],
]
const toolNames: readonly (readonly string[])[] = [
  ['gen_ai', 'tool', 'name'],
  ['tool', 'name'],
  ['ai', 'toolCall', 'name'],
  ['traceloop', 'entity', 'name'],
  ['tool_name'],
]

function toolOf(attributes: Json | undefined, name: string): Pick<ToolCall, 'id' | 'name'> | undefined {
  // The attributes also hold the whole span, so they are searched once.
  const members = membersIn(attributes)
  const textAt = ([first = '', ...rest]: readonly string[]) => textIn(jsonAt(members.get(first), ...rest))
  if (!toolMarks.some(([path, pattern]) => pattern.test(textAt(path) ?? ''))) return undefined
  const id = textAt(['gen_ai', 'tool', 'call', 'id']) ?? textAt(['ai', 'toolCall', 'id'])
  const own = toolNames.map(textAt).find((text) => text !== undefined)
  return { name: own ?? name, ...(id !== undefined && { id }) }
}

function toolRun(
  tool: Pick<ToolCall, 'id' | 'name'>,
  inputs: Json | undefined,
  output: Json | undefined,
): Conversation {
  const input = unwrapped(inputs, ['arguments', 'value', 'inputs', 'input'])
  const call: ToolCall = { kind: 'call', ...tool, input: textIn(input) ?? input ?? '' }
  const asked: Message[] = [{ role: 'assistant', parts: [call] }]
  if (output === undefined || isNothing(output)) return { asked, answered: [] }
  const value = unwrapped(output, ['value', 'outputs', 'output', 'result']) ?? output
  const content: Part[] = textIn(value) === undefined ? [{ kind: 'data', json: value }] : partsOf(value)
  const { id, name } = tool
  return {
    asked,
    answered: [{ role: 'tool', parts: [{ kind: 'result', ...(id !== undefined && { id }), name, content }] }],
  }
}

function unwrapped(json: Json | undefined, names: readonly string[]): Json | undefined {
  const members = membersIn(json)
  const [only] = members.keys()
  return members.size === 1 && names.includes(only as string) ? members.get(only as string) : json
}

/** Some record the whole conversation as the output, others the answer as the last message of the input. */
function withoutRepeats({ asked, answered }: Conversation): Conversation {
  const isSame = (a: Message | undefined, b: Message | undefined) =>
    a !== undefined &&
    b !== undefined &&
    a.role === b.role &&
    JSON.stringify(a.parts) === JSON.stringify(b.parts)
  let same = 0
  while (same < answered.length - 1 && same < asked.length && isSame(asked[same], answered[same])) same++
  const left = same === asked.length ? answered.slice(same) : answered
  const last = asked.at(-1)
  const [only] = left
  const isRepeated =
    left.length === 1 &&
    last?.role === 'assistant' &&
    only !== undefined &&
    textOfWords(last) === textOfWords(only)
  return { asked: isRepeated ? asked.slice(0, -1) : asked, answered: left }
}

const textOfWords = ({ role, parts }: Message) =>
  textOfMessage({ role, parts: parts.filter(({ kind }) => kind === 'text') })

/** The same conversation with each result beside the call that it answers, by its id or else by the name of the tool. */
export function paired({ asked, answered }: Conversation): Conversation {
  const open = new Map<string, { calls: ToolCall[]; next: number }>()
  const note = (call: ToolCall) => {
    const key = keyOf(call)
    const known = open.get(key)
    if (known === undefined) open.set(key, { calls: [call], next: 0 })
    else known.calls.push(call)
  }
  const isTaken = (result: ToolResult): boolean => {
    const known = open.get(keyOf(result))
    const call = known?.calls[known.next]
    if (known === undefined || call === undefined) return false
    known.next++
    call.result = result
    return true
  }
  const pair = (messages: readonly Message[]): Message[] =>
    messages.flatMap((message) => {
      const parts = message.parts.flatMap((part): Part[] => {
        if (part.kind === 'result') return isTaken(part) ? [] : [part]
        if (part.kind !== 'call') return [part]
        const call = { ...part }
        note(call)
        return [call]
      })
      return parts.length === 0 && message.parts.length > 0 ? [] : [{ ...message, parts }]
    })
  return { asked: pair(asked), answered: pair(answered) }
}

const keyOf = ({ id, name }: { id?: string; name?: string }) =>
  id === undefined ? `name ${name}` : `id ${id}`
