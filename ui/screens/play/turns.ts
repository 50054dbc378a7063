import { type JsonNode, jsonNode, membersOf, nodeAt, sourceOf, stringOf } from '../../value/json-index.ts'
import type { Settings } from './settings.ts'

/** A message of the conversation, as it is edited. */
export interface Turn {
  /** Identifies it while the page is open. */
  id: number
  role: string
  /** The text of the message. Where `isJson`, the list of its parts as JSON. */
  text: string
  isJson?: boolean
  /** The other members of the message, as JSON: calls of tools, the call that a result belongs to. */
  rest: Readonly<Record<string, string>>
  /** The answer continues the end of it. */
  isOpen?: boolean
  /** It has just been added, to be written now. */
  isBegun?: boolean
}

let ids = 0

export const begunTurn = (role: string): Turn => newTurn(role, '', { isBegun: true })

export const newTurn = (role: string, text = '', more: Partial<Omit<Turn, 'id'>> = {}): Turn => ({
  id: ++ids,
  role,
  text,
  rest: {},
  ...more,
})

function messageOf({ role, text, isJson = false, rest }: Turn): string {
  const content = isJson ? text : text === '' && 'tool_calls' in rest ? 'null' : JSON.stringify(text)
  const members = Object.entries({ role: JSON.stringify(role), content, ...rest })
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`
}

export const messagesOf = (turns: readonly Turn[]): string => `[${turns.map(messageOf).join(',')}]`

/** The fields that the page adds by itself; a setting of the same name wins. */
export function bodyOf(turns: readonly Turn[], settings: Settings, own: Settings = new Map()): string {
  const members = new Map([['messages', messagesOf(turns)], ...own, ...settings])
  return `{${[...members].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`
}

/** If the last turn is open, the answer continues it. */
export function openFields(turns: readonly Turn[]): Settings {
  return turns.at(-1)?.isOpen
    ? new Map([
        ['add_generation_prompt', 'false'],
        ['continue_final_message', 'true'],
      ])
    : new Map()
}

/** A recorded call of a chat, to be asked again; undefined where it is no chat. */
export function requestIn(inputs: JsonNode | undefined): { turns: Turn[]; settings: Settings } | undefined {
  const messages = nodeAt(inputs, 'messages')
  if (messages?.kind !== 'array' || inputs === undefined) return undefined
  const turns = [...membersOf(messages)].map(({ node }) => turnOf(node))
  const settings = new Map<string, string>()
  for (const { name, node } of membersOf(inputs)) {
    if (name === 'messages' || name === 'stream' || name === 'stream_options') continue
    if (node.kind !== 'null') settings.set(name, sourceOf(node))
  }
  const last = turns.at(-1)
  if (last?.role === 'assistant' && settings.get('continue_final_message') === 'true') {
    settings.delete('continue_final_message')
    settings.delete('add_generation_prompt')
    last.isOpen = true
  }
  return { turns, settings }
}

function turnOf(message: JsonNode): Turn {
  const rest: Record<string, string> = {}
  for (const { name, node } of membersOf(message)) {
    if (name !== 'role' && name !== 'content' && node.kind !== 'null') rest[name] = sourceOf(node)
  }
  const content = nodeAt(message, 'content')
  const text = stringOf(content)
  const isJson = content !== undefined && content.kind !== 'null' && text === undefined
  return newTurn(stringOf(nodeAt(message, 'role')) ?? 'user', isJson ? sourceOf(content) : (text ?? ''), {
    rest,
    ...(isJson && { isJson }),
  })
}

/** Turns that were stored before a reload. */
export function turnsIn(json: string): Turn[] {
  return requestIn(jsonNode(`{"messages":${json}}`))?.turns ?? []
}
