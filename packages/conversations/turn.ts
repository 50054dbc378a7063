import { type CallJson, conversationOf } from './conversation.ts'
import { isNothing, type Json, membersIn, textIn } from './json.ts'
import { textOfMessage } from './lines.ts'
import type { Block, Message, ToolCall, ToolResult } from './message.ts'
import { onlyText } from './requests.ts'

/** A call of a turn, with those that it made. */
export interface TurnCall extends CallJson {
  exception?: string | undefined
  children: readonly TurnCall[]
}

/** What a model was told before, as one of its calls shows it: a key for each message, without system messages. */
interface History {
  keys: readonly string[]
  /** How many of them were asked; the others were answered. */
  asked: number
}

/** What earlier turns of a conversation said. */
export interface Before {
  histories: readonly History[]
  systems: ReadonlySet<string>
}

export const nothingBefore: Before = { histories: [], systems: new Set() }

interface Turn {
  /** What is new in this turn, in order: what was asked, the steps in between, and the last answer. */
  asked: Message[]
  answered: Message[]
  /** Its request repeats messages that no earlier turn has. */
  isNewStart: boolean
  after: Before
}

/** Agents have several conversations with their models at once. */
const maxHistories = 8

/**
 * One turn of a conversation, read from its calls: every request repeats the messages before it, agents repeat what
 * their models answered, and tools run in calls of their own.
 */
export function turnOf(root: TurnCall, { histories, systems }: Before): Turn {
  const shown: Message[] = []
  const shownKeys = new Set<string>()
  const known = new Set(systems)
  let all = [...histories]
  let isNewStart = false
  const toolCalls: ToolCall[] = []

  const thoughts = new Set<string>()

  const add = (message: Message) => {
    const blocks = message.blocks.filter((block) => {
      if (block.kind === 'result') return !isTaken(block)
      // An agent and its model both have what was thought before a call.
      if (block.kind === 'thought') return block.text === '' || !thoughts.has(block.text)
      if (block.kind !== 'call') return true
      return !toolCalls.some(({ id }) => id !== undefined && id === block.id)
    })
    for (const [index, block] of blocks.entries()) {
      if (block.kind === 'thought') thoughts.add(block.text)
      if (block.kind !== 'call') continue
      const call = { ...block }
      blocks[index] = call
      toolCalls.push(call)
    }
    shownKeys.add(keyOf(message))
    if (blocks.length === 0) return
    // Where a chain shows the question only, its model has the instructions before it.
    const question = isTalk(message) || !shown.every(isOfPerson) ? -1 : shown.findIndex(isTalk)
    shown.splice(question === -1 ? shown.length : question, 0, { ...message, blocks })
  }

  /** Puts a result beside the call that it answers. */
  const isTaken = (result: ToolResult): boolean => {
    const call =
      result.id === undefined
        ? toolCalls.find(({ name, result: found }) => name === result.name && found === undefined)
        : toolCalls.find(({ id }) => id === result.id)
    if (call === undefined) return false
    call.result ??= result
    return true
  }

  const addTool = (call: ToolCall, result: ToolResult | undefined) => {
    const open = toolCalls.find(
      ({ id, name, result: found }) =>
        (id !== undefined && id === call.id) ||
        ((id === undefined || call.id === undefined) && name === call.name && found === undefined),
    )
    if (open === undefined) add({ role: 'assistant', blocks: [{ ...call, ...(result && { result }) }] })
    else if (result !== undefined && (result.isError || open.result === undefined)) open.result = result
  }

  const addAsked = (asked: readonly Message[], answered: readonly Message[]) => {
    const talk = asked.filter(isTalk)
    const { from, history } = continuationOf(all, talk)
    if (history === undefined && all.length > 0 && talk.some(({ role }) => role === 'assistant'))
      isNewStart = true
    const fresh = new Set(from === talk.length ? talk.slice(-1) : talk.slice(from))
    for (const message of asked) {
      const key = keyOf(message)
      const isRepeated = isTalk(message) ? !fresh.has(message) : known.has(key)
      if (!isTalk(message)) known.add(key)
      if (isRepeated || (isOfPerson(message) && shownKeys.has(key))) continue
      add(message)
    }
    const keys = [...talk, ...answered].map(keyOf)
    all = [{ keys, asked: talk.length }, ...all.filter((other) => other !== history)].slice(0, maxHistories)
  }

  const addAnswered = (answered: readonly Message[]) => {
    for (const message of answered) {
      const key = keyOf(message)
      // The same tool may be called twice in the same words.
      if (hasCalls(message) || !shownKeys.has(key)) add(message)
    }
  }

  const visit = (call: TurnCall) => {
    const conversation = conversationOf(call)
    const tool = conversation && toolRunIn(conversation.asked)
    const { exception } = call
    if (tool !== undefined) {
      const [block] = conversation?.answered[0]?.blocks ?? []
      const result = block?.kind === 'result' ? block : undefined
      addTool(tool, exception === undefined ? result : failedResult(result, exception))
    } else if (conversation !== undefined) addAsked(conversation.asked, conversation.answered)
    for (const child of call.children) visit(child)
    if (tool === undefined && conversation !== undefined) addAnswered(conversation.answered)
    if (tool === undefined && exception !== undefined)
      add({
        role: 'error',
        ...(call.name !== undefined && { name: call.name }),
        blocks: textBlocks(exception),
      })
  }

  visit(root)
  if (shown.every(({ role }) => role === 'error')) shown.unshift(...asRecorded(root))
  const last = shown.findLastIndex(({ role }) => role !== 'error')
  const answer = shown[last]
  const isAnswered =
    last > 0 && answer !== undefined && /^(assistant|answer|output)$/.test(answer.role) && !hasCalls(answer)
  const end = isAnswered ? last : shown.length
  return {
    asked: shown.slice(0, end),
    answered: shown.slice(end),
    isNewStart,
    after: { histories: all, systems: known },
  }
}

const isOfPerson = ({ role }: Message): boolean => /^(user|prompt|system|developer)$/.test(role)

const hasCalls = ({ blocks }: Message): boolean => blocks.some(({ kind }) => kind === 'call')

const isTalk = ({ role }: Message): boolean => role !== 'system' && role !== 'developer'

const textBlocks = (text: string): Block[] => [{ kind: 'text', text }]

/** Where a request goes on after one of the histories: the one that ends with the most messages of it. */
function continuationOf(
  histories: readonly History[],
  talk: readonly Message[],
): { from: number; history: History | undefined } {
  const keys = talk.map(keyOf)
  let best: { from: number; history: History | undefined; length: number } = {
    from: 0,
    history: undefined,
    length: 0,
  }
  for (const history of histories) {
    for (const end of new Set([history.keys.length, history.asked])) {
      for (let from = 1; from <= keys.length; from++) {
        let length = 0
        while (length < from && length < end && keys[from - 1 - length] === history.keys[end - 1 - length])
          length++
        if (length <= best.length) continue
        best = { from: end === history.asked ? afterAnswer(talk, from) : from, history, length }
      }
    }
  }
  return best
}

/** Clients may send an answer back in another form than they got it. */
function afterAnswer(talk: readonly Message[], from: number): number {
  let at = from
  while (talk[at]?.role === 'assistant') at++
  return at
}

/** The call of a tool that ran in a call of its own. */
function toolRunIn(asked: readonly Message[]): ToolCall | undefined {
  const [message, ...others] = asked
  const [block] = message?.blocks ?? []
  const isAlone = others.length === 0 && message?.role === 'assistant' && message.blocks.length === 1
  return isAlone && block?.kind === 'call' ? block : undefined
}

/** A tool may have returned something before it failed. */
function failedResult(result: ToolResult | undefined, exception: string): ToolResult {
  const returned = result?.content ?? []
  const isSaid = textOfMessage({ role: 'tool', blocks: returned }).includes(exception)
  const content = isSaid ? returned : [...returned, ...textBlocks(exception)]
  return { kind: 'result', ...result, isError: true, content }
}

/** Inputs and output of a call that is no conversation. */
function asRecorded({ inputs, output }: TurnCall): Message[] {
  return [asValue('user', 'input', inputs), asValue('assistant', 'output', output)].flat()
}

function asValue(speaker: string, role: string, json: Json | undefined): Message[] {
  if (json === undefined || isNothing(json) || json === '{}') return []
  const text = textIn(json) ?? textIn(onlyText(membersIn(json)) ?? 'null')
  if (text !== undefined) return [{ role: speaker, blocks: textBlocks(text) }]
  return [{ role, blocks: [{ kind: 'data', json }] }]
}

/** Without thoughts, which clients leave out when they repeat an answer, and without what agents add to a question. */
function keyOf({ role, blocks }: Message): string {
  return digestOf(
    `${role} ${textOfMessage({ role, blocks: blocks.filter(({ kind }) => !/^(thought|context)$/.test(kind)) }).trim()}`,
  )
}

/** Short, because the keys of long conversations are kept. */
function digestOf(text: string): string {
  let [high, low] = [0xdeadbeef, 0x41c6ce57]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    high = Math.imul(high ^ code, 2654435761)
    low = Math.imul(low ^ code, 1597334677)
  }
  return `${text.length} ${high >>> 0} ${low >>> 0}`
}
