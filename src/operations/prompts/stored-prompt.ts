import { z } from 'zod'
import { itemsOf, membersOf } from '../../../packages/json/index.ts'
import { Value } from '../objects/values.ts'
import { type Segments, segmentsOf } from './template.ts'
import { plainVariable, textOfValue, VariableType } from './variables.ts'

/** A message of a prompt, with its texts as templates; or the place of messages that the request brings. */
export type PromptMessage =
  | { placeholder: string }
  | { role: string; members: ReadonlyMap<string, string>; content: Segments | readonly PromptBlock[] | null }

interface PromptBlock {
  members: ReadonlyMap<string, string>
  text: Segments | undefined
}

/** A version of a prompt, read once. */
export interface StoredPrompt {
  /** The text of a StringPrompt. */
  text?: Segments
  /** Those of a MessagesPrompt. */
  messages: readonly PromptMessage[]
  /** Fields of a chat completion, as JSON. */
  settings: ReadonlyMap<string, string>
  variables: ReadonlyMap<string, VariableType>
  placeholders: ReadonlySet<string>
}

/** Fields of a request that are not up to its prompt. */
const requestFields = ['messages', 'prompt', 'stream', 'stream_options', 'n', 'store', 'metadata', 'user']
const secretFields = ['cache_salt', 'request_id', 'session_id', 'priority', 'safety_identifier']
const notSettings = new Set([...requestFields, ...secretFields])

/** The place where the messages of the request go; without it they follow. */
export const requestMessages = 'messages'

class UnusableError extends Error {}
const unusable = (why: string) => new UnusableError(why)

/** Reads an object as a prompt, or says why it is none. */
export function storedPromptOf(val: string): StoredPrompt | { why: string } {
  try {
    return promptOf(val)
  } catch (error) {
    if (error instanceof UnusableError) return { why: error.message }
    throw error
  }
}

function promptOf(val: string): StoredPrompt {
  const members = val.startsWith('{') ? membersOf(val) : new Map<string, string>()
  const [content, messages] = [members.get('content'), members.get('messages')]
  if (content?.startsWith('"') !== true && messages?.startsWith('[') !== true) {
    throw unusable('it has neither `content`, a text, nor `messages`, a list')
  }
  const text = messages === undefined ? templateOf(content ?? '""', 'content') : undefined
  const read = messages === undefined ? [] : itemsOf(messages).map(messageOf)
  const declared = declaredOf(members.get('variables'))
  const placeholders = new Set(
    read.flatMap((message) => ('placeholder' in message ? message.placeholder : [])),
  )
  const used = [...(text ?? []), ...read.flatMap(segmentsIn)]
  const variables = new Map(declared)
  for (const segment of used) {
    if ('text' in segment) continue
    if (placeholders.has(segment.variable))
      throw unusable(`${segment.variable} is a placeholder and a variable`)
    if (!variables.has(segment.variable)) variables.set(segment.variable, plainVariable)
  }
  placeholders.delete(requestMessages)
  return {
    ...(text && { text }),
    ...{ messages: read, settings: settingsOf(members.get('settings')), variables, placeholders },
  }
}

function settingsOf(json: string | undefined): Map<string, string> {
  if (json === undefined || json === 'null') return new Map()
  if (!json.startsWith('{')) throw unusable('its `settings` are no object')
  const settings = membersOf(json)
  for (const [name, value] of settings) {
    if (notSettings.has(name)) throw unusable(`its settings contain ${name}, which is up to each request`)
    if (value === 'null') settings.delete(name)
  }
  return settings
}

function declaredOf(json: string | undefined): Map<string, VariableType> {
  if (json === undefined || json === 'null') return new Map()
  if (!json.startsWith('{')) throw unusable('its `variables` are no object')
  const declared = new Map<string, VariableType>()
  for (const [name, text] of membersOf(json)) {
    const read = VariableType.safeParse(JSON.parse(text))
    if (!read.success) {
      const accepted = Object.keys(VariableType.shape).join(', ')
      throw unusable(`its variables.${name} is no object of ${accepted}: ${z.prettifyError(read.error)}`)
    }
    const fallback = membersOf(text).get('default')
    if (fallback !== undefined && textOfValue(read.data, fallback) === undefined) {
      throw unusable(`the default of its variables.${name} is no ${read.data.type}`)
    }
    declared.set(name, { ...read.data, ...(fallback !== undefined && { default: fallback }) })
  }
  return declared
}

function messageOf(json: string, index: number): PromptMessage {
  const field = `messages.${index}`
  const value = new Value(json)
  const name = value.member('name')?.string
  if (value.member('type')?.string === 'placeholder' && name) return { placeholder: name }
  const role = value.member('role')?.string
  if (role === undefined) throw unusable(`its ${field} has no role`)
  const members = membersOf(json)
  const content = members.get('content')
  members.delete('content')
  if (content?.startsWith('"')) return { role, members, content: templateOf(content, `${field}.content`) }
  if (content === undefined || content === 'null') return { role, members, content: null }
  if (!content.startsWith('[')) throw unusable(`its ${field}.content is neither a text nor a list`)
  const blocks = itemsOf(content).map((block, at) => blockOf(block, `${field}.content.${at}`))
  return { role, members, content: blocks }
}

function blockOf(json: string, field: string): PromptBlock {
  if (!json.startsWith('{')) throw unusable(`its ${field} is no object`)
  const members = membersOf(json)
  const text = members.get('text')
  return { members, text: text?.startsWith('"') ? templateOf(text, `${field}.text`) : undefined }
}

function templateOf(json: string, field: string): Segments {
  const read = segmentsOf(JSON.parse(json) as string)
  if ('why' in read) throw unusable(`${field}: ${read.why}`)
  return read.segments
}

/** The templates of a message. */
export function templatesIn(message: PromptMessage): Segments[] {
  if ('placeholder' in message || message.content === null) return []
  const { content } = message
  return isBlocks(content) ? content.flatMap(({ text }) => (text === undefined ? [] : [text])) : [content]
}

export const segmentsIn = (message: PromptMessage) => templatesIn(message).flat()

export function isBlocks(content: Segments | readonly PromptBlock[]): content is readonly PromptBlock[] {
  return content[0] !== undefined && 'members' in content[0]
}
