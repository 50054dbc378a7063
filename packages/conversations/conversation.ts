import { outputMessages } from './answers.ts'
import { blocksOf } from './blocks.ts'
import { isNothing, itemsIn, type Json, jsonAt, type Members, membersIn, textIn } from './json.ts'
import { messageLine, textOfMessage, wordsOf } from './lines.ts'
import type { Block, Message, ToolCall, ToolResult } from './message.ts'
import { isOrdinaryEnding, messageOf } from './messages.ts'
import { inputMessages } from './requests.ts'
import { resultContent } from './tools.ts'

export interface Conversation {
  asked: Message[]
  answered: Message[]
}

export interface CallJson {
  inputs: Json | undefined
  output: Json | undefined
  attributes?: Json | undefined
  /** The name of the call, for a tool that has none. */
  name?: string | undefined
}

/** The conversation of a call, whichever convention recorded it; undefined where there is none. */
export function conversationOf({ inputs, output, attributes, name }: CallJson): Conversation | undefined {
  // The attributes also hold the whole span, so they are searched once.
  const members = membersIn(attributes)
  const tool = toolOf(members, name ?? 'tool')
  if (tool !== undefined) return toolRun(tool, inputs, output)
  const asked = inputMessages(inputs)
  const answered = outputMessages(output)
  if (asked === undefined && answered === undefined) return undefined
  const { asked: from, answered: to } = withoutRepeats({
    asked: asked ?? shownAsIs('input', inputs),
    answered: answered ?? answerAsIs(output),
  })
  return { asked: from, answered: withEndings(to, members) }
}

/** Where an attribute says why the answers ended, and they do not: one reason for each choice. */
function withEndings(answered: Message[], attributes: Members): Message[] {
  const list = itemsIn(jsonAt(attributes.get('gen_ai'), 'response', 'finish_reasons')).map(textIn)
  const only = list[0] ?? textIn(jsonAt(attributes.get('ai'), 'response', 'finishReason'))
  return answered.map((message, index) => {
    const reason = message.choice === undefined ? only : list[message.choice - 1]
    const isLast = message.choice !== undefined || index === answered.length - 1
    if (!isLast || message.role !== 'assistant' || message.ending !== undefined) return message
    return reason === undefined || isOrdinaryEnding(reason) ? message : { ...message, ending: reason }
  })
}

function shownAsIs(role: string, json: Json | undefined): Message[] {
  return json === undefined || isNothing(json) || json === '{}'
    ? []
    : [{ role, blocks: [{ kind: 'other', json }] }]
}

/** Chains answer with a text, or with one that has only a name. */
function answerAsIs(output: Json | undefined): Message[] {
  const text = unwrapped(output, ['output', 'answer', 'response', 'result', 'text'])
  return textIn(text) === undefined
    ? shownAsIs('output', output)
    : [{ role: 'assistant', blocks: blocksOf(text) }]
}

/** Where the conventions say that a span is the run of a tool. */
const toolMarks = [
  'gen_ai.operation.name',
  'openinference.span.kind',
  'ai.operationId',
  'traceloop.span.kind',
  'langfuse.observation.type',
  'langsmith.span.kind',
  'mlflow.spanType',
  'span.type',
  'genkit:metadata:subtype',
]
/** What they write there; MLflow quotes it. */
const toolWord = /^"?(execute_tool|tool|ai\.toolCall)"?$/i
const toolNames = [
  'gen_ai.tool.name',
  'tool.name',
  'ai.toolCall.name',
  'traceloop.entity.name',
  'tool_name',
  'genkit:name',
]

function toolOf(members: Members, name: string): Pick<ToolCall, 'id' | 'name'> | undefined {
  const textAt = (path: string) => {
    const [first = '', ...rest] = path.split('.')
    return textIn(jsonAt(members.get(first), ...rest))
  }
  const callId = textAt('gen_ai.tool.call.id')
  // Pydantic AI has the id of a call, and names no operation. Claude Code has it on what is below a tool, too.
  const isTool =
    toolMarks.some((path) => toolWord.test(textAt(path) ?? '')) ||
    (callId && !textAt('gen_ai.operation.name') && !textAt('span.type'))
  if (!isTool) return undefined
  const id = callId ?? textAt('ai.toolCall.id') ?? textAt('tool_call.id')
  const own = toolNames.map(textAt).find(Boolean)
  return { name: own ?? name, ...(id !== undefined && { id }) }
}

function toolRun(
  tool: Pick<ToolCall, 'id' | 'name'>,
  inputs: Json | undefined,
  output: Json | undefined,
): Conversation {
  const input = unwrapped(inputs, ['arguments', 'value', 'inputs', 'input'])
  const value = unwrapped(output, ['value', 'outputs', 'output', 'result']) ?? 'null'
  const {
    id = tool.id,
    name = tool.name,
    content,
  } = messageResult(value) ?? { content: resultContent(value, blocksOf) }
  const ran = { ...(id !== undefined && { id }), name }
  const call: ToolCall = { kind: 'call', ...ran, input: textIn(input) ?? input ?? '' }
  const result: ToolResult = { kind: 'result', ...ran, content }
  return {
    asked: [{ role: 'assistant', blocks: [call] }],
    answered: isNothing(output) ? [] : [{ role: 'tool', blocks: [result] }],
  }
}

/** Tools of LangChain return a message, which has the id of the call. */
function messageResult(value: Json): (Partial<ToolResult> & Pick<ToolResult, 'content'>) | undefined {
  const members = membersIn(value)
  if (!members.has('lc') && !members.has('tool_call_id')) return undefined
  const [block] = messageOf(value).blocks
  return block?.kind === 'result' ? block : undefined
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
    JSON.stringify(a.blocks) === JSON.stringify(b.blocks)
  let same = 0
  while (same < answered.length - 1 && same < asked.length && isSame(asked[same], answered[same])) same++
  const left = same === asked.length ? answered.slice(same) : answered
  const last = asked.at(-1)
  const [only] = left
  const isRepeated =
    left.length === 1 &&
    last?.role === 'assistant' &&
    only !== undefined &&
    textOfWords(last) !== '' &&
    textOfWords(last) === textOfWords(only)
  return { asked: isRepeated ? asked.slice(0, -1) : asked, answered: left }
}

const textOfWords = ({ role, blocks }: Message) =>
  textOfMessage({ role, blocks: blocks.filter(({ kind }) => kind === 'text') })

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
      const blocks = message.blocks.flatMap((block): Block[] => {
        if (block.kind === 'result') return isTaken(block) ? [] : [block]
        if (block.kind !== 'call') return [block]
        const call = { ...block }
        note(call)
        return [call]
      })
      return blocks.length === 0 && message.blocks.length > 0 ? [] : [{ ...message, blocks }]
    })
  return { asked: pair(asked), answered: pair(answered) }
}

const keyOf = ({ id, name }: { id?: string; name?: string }) =>
  id === undefined ? `name ${name}` : `id ${id}`

/** A conversation as texts, for whoever judges it or makes examples of it. */
export interface Transcript {
  /** The last words of the user. */
  question: string | undefined
  /** The first choice, or all messages of the answer; calls where there are no words. */
  answer: string | undefined
  /** Every message, after its role. */
  whole: string
}

export function transcriptOf({ asked, answered }: Conversation): Transcript {
  const users = asked.filter(({ role }) => role === 'user' || role === 'prompt')
  const [first] = answered
  const chosen = first?.choice === undefined ? answered : [first]
  const messages = [...asked, ...chosen]
  return {
    question: users.map((message) => wordsOf(message, '\n\n')).findLast((text) => text !== ''),
    answer:
      chosen
        .map((message) => messageLine(message, '\n\n'))
        .filter(Boolean)
        .join('\n\n') || undefined,
    whole: messages.map((message) => `${message.role}: ${textOfMessage(message)}`).join('\n\n'),
  }
}
