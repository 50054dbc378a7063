import { Scan } from '../../../packages/json/index.ts'
import { briefly, isObject, type Members, maxReadLength } from './brief.ts'

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

/** What was asked: the last user message, in the formats of OpenAI, Anthropic and OpenTelemetry's conventions. */
export function requestPreview(json: string): RequestPreview {
  const inputs = briefly(json)
  if (!isObject(inputs)) return { preview: lineOf(json), model: null }
  const { messages, input, prompt, model } = inputs
  const sent = messages ?? input
  const found = Array.isArray(sent)
    ? (lastOf(sent, isUser) ?? lastOf(sent))
    : [sent, prompt].find((text) => typeof text === 'string')
  return {
    preview: lineOf(found ?? onlyText(inputs) ?? json),
    model: typeof model === 'string' ? model : null,
  }
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
  const output = briefly(json)
  if (typeof output === 'string') return lineOf(output)
  if (!isObject(output)) return output === null ? null : lineOf(json)
  return lineOf(answerOf(output) ?? onlyText(output) ?? json)
}

function answerOf({ choices, output, messages, content }: Members): string | undefined {
  if (Array.isArray(choices)) {
    const [first] = choices
    if (!isObject(first)) return undefined
    return isObject(first.message) ? messagePreview(first.message) : textOf(first.text)
  }
  for (const list of [output, messages]) if (Array.isArray(list)) return lastOf(list)
  return contentOf(content)
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

/** The only member, if it is a text; `self`, the object that a method belongs to, does not count. */
function onlyText(value: Members): string | undefined {
  const names = Object.keys(value)
  if (names.length > 2) return undefined
  const [only, ...others] = names.filter((name) => name !== 'self')
  return only === undefined || others.length > 0 ? undefined : textOf(value[only])
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined)

const isUser = ({ role }: Members) => role === 'user' || role === 'human'

/** The text of the last message of a list that has one. */
function lastOf(
  list: readonly unknown[],
  fits: (message: Members) => boolean = () => true,
): string | undefined {
  for (const item of list.toReversed()) {
    if (!isObject(item)) continue
    // OpenInference wraps each message in an object.
    const message = isObject(item.message) ? item.message : item
    const preview = fits(message) ? messagePreview(message) : undefined
    if (preview) return preview
  }
  return undefined
}

function messagePreview(message: Members): string | undefined {
  const text = contentOf(message.content ?? message.parts) || textOf(message.text)
  if (text) return text
  if (Array.isArray(message.tool_calls)) return calledIn(message.tool_calls[0])
  return message.type === 'function_call' ? calledIn(message) : undefined
}

/** A text, or a list of parts: the parts that are texts, or else the first tool call. */
function contentOf(content: unknown): string | undefined {
  if (!Array.isArray(content)) return textOf(content)
  const texts: string[] = []
  let called: string | undefined
  for (const block of content) {
    const text = isObject(block)
      ? (textOf(block.text) ?? (block.type === 'text' ? textOf(block.content) : undefined))
      : textOf(block)
    if (text) texts.push(text)
    else if (isObject(block) && /^tool_(use|call)$/.test(String(block.type))) called ??= calledIn(block)
  }
  return texts.length > 0 ? texts.join(' ') : called
}

/** `lookup({"city":"Paris"})` */
function calledIn(call: unknown): string | undefined {
  if (!isObject(call)) return undefined
  const called = isObject(call.function) ? call.function : call
  const args = called.arguments ?? called.input
  const written = typeof args === 'string' || args === undefined ? (args ?? '') : JSON.stringify(args)
  return typeof called.name === 'string' ? `${called.name}(${written})` : undefined
}
