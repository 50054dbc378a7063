import { answerLine, requestLine } from '../../../packages/conversations/index.ts'
import { Scan } from '../../../packages/json/index.ts'
import { isObject, type Members, maxReadLength, shortJson } from './brief.ts'

/** Characters of a preview. */
const longest = 160

/**
 * Inputs or an output up to this many characters are read when a list shows them, and no preview is stored: making one
 * for each call that is written would cost more.
 */
const maxCharactersWithoutPreview = 4096

/** The most bytes that such a text can have. */
export const maxBytesWithoutPreview = maxCharactersWithoutPreview * 3

export const isPreviewStored = (json: string): boolean => json.length > maxCharactersWithoutPreview

interface RequestPreview {
  preview: string | null
  /** The model that the request names. */
  model: string | null
}

/** What was asked: the last words of the user, in any of the forms that the reader of conversations knows. */
export function requestPreview(json: string): RequestPreview {
  const inputs = shortJson(json)
  if (inputs === undefined) return { preview: null, model: null }
  const value: unknown = JSON.parse(inputs)
  const { messages, model } = isObject(value) ? value : {}
  return {
    preview: lineOf(plainQuestion(messages) ?? requestLine(inputs) ?? ''),
    model: typeof model === 'string' ? model : null,
  }
}

/** What the reader may take for something else than words. */
const oddStart = /^(?:[\s<#x]|$)/
const others = new Set<unknown>(['assistant', 'system', 'tool', 'developer'])
const maxPlainMessages = 100

/** What the reader finds in the plainest of conversations. Most are, and it takes ten times as long. */
function plainQuestion(messages: unknown): string | undefined {
  if (!Array.isArray(messages)) return undefined
  for (const message of messages.slice(-maxPlainMessages).reverse()) {
    if (!isObject(message)) return undefined
    const { role, content, contents } = message
    if (role === 'user' && contents === undefined && typeof content === 'string' && !oddStart.test(content)) {
      return isOnly(message) ? content : undefined
    }
    if (!others.has(role)) return undefined
  }
  return undefined
}

/** Nothing else in the message counts as its words. */
const isOnly = ({ refusal, audio, tool_call_id, toolCallId }: Members): boolean =>
  [refusal, audio, tool_call_id, toolCallId].every((member) => member == null)

function plainAnswer(output: unknown): string | undefined {
  const { choices } = isObject(output) ? output : {}
  const [choice] = Array.isArray(choices) ? choices : []
  const { message } = isObject(choice) ? choice : {}
  if (!isObject(message) || message.role !== 'assistant' || message.contents !== undefined) return undefined
  const { content } = message
  return typeof content === 'string' && !oddStart.test(content) && isOnly(message) ? content : undefined
}

/** The same model, without parsing the rest. */
export function modelIn(json: string): string | null {
  // A name may be written with escapes.
  if (!json.includes('"model"') && !json.includes('\\u')) return null
  const scan = new Scan(json)
  const begin = scan.space(0)
  if (!scan.isObject(begin)) return null
  let model: string | null = null
  let end = 0
  for (let at = scan.enter(begin); at !== -1; at = scan.after(end)) {
    const from = scan.key(at)
    end = scan.skip(from)
    if (scan.name !== 'model') continue
    const value: unknown = JSON.parse(json.slice(from, end))
    model = typeof value === 'string' ? value : null
  }
  return model
}

/** What was answered: the first choice, or the last message. */
export function answerPreview(json: string): string | null {
  const output = shortJson(json)
  if (output === undefined) return null
  const value: unknown = JSON.parse(output)
  return lineOf(
    typeof value === 'string' && !value.startsWith('[')
      ? value
      : (plainAnswer(value) ?? answerLine(output) ?? ''),
  )
}

/** Words separated by single spaces: most texts begin like this, and then nothing more has to be read. */
const plainLine = /^[^\0-\x20\x7f-\xa0]+(?: [^\0-\x20\x7f-\xa0]+)*$/

/** One line that both engines can store. Each run of spaces and control characters becomes one space. */
function lineOf(text: string): string | null {
  const start = text.length > longest ? text.slice(0, longest) : text
  if (plainLine.test(start) && start.isWellFormed()) return start
  let line = ''
  let from = 0
  const end = Math.min(text.length, maxReadLength)
  for (let at = 0; at <= end && line.length <= longest; at++) {
    const code = at < end ? text.charCodeAt(at) : 0
    if (code > 0x20 && (code < 0x7f || code > 0xa0)) continue
    if (at > from) line += line === '' ? text.slice(from, at) : ` ${text.slice(from, at)}`
    from = at + 1
  }
  const last = line.charCodeAt(longest - 1)
  const isCut = line.length > longest && last >= 0xd800 && last < 0xdc00
  return line.slice(0, isCut ? longest - 1 : longest).toWellFormed() || null
}
