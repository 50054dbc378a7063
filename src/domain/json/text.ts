import { JsonNumber, parseLossless } from '../../../packages/json/index.ts'
import { inSteps } from '../../../packages/waiting/index.ts'

/** Reading numbers with their digits takes up to a hundred times as long. A schema that a person writes is shorter. */
export const maxExact = 16 * 1024

/**
 * UTF-8 in memory that threads share. Large texts are passed between threads in this form, because copying them would
 * block the thread that serves HTTP.
 */
export type SharedText = Uint8Array<SharedArrayBuffer>

export function sharedText(text: string): SharedText {
  const bytes = new Uint8Array(new SharedArrayBuffer(Buffer.byteLength(text)))
  Buffer.from(bytes.buffer).write(text)
  return bytes
}

/** Concatenates texts; the result is shared if one of them is. */
export function joined(texts: readonly (string | SharedText)[]): string | SharedText {
  if (!texts.some(isSharedText)) return texts.join('')
  return sharedBytes(texts.map((text) => (isSharedText(text) ? Buffer.from(text.buffer) : Buffer.from(text))))
}

/** Concatenates the bytes of texts. */
export function sharedBytes(pieces: readonly Buffer[]): SharedText {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const bytes = new Uint8Array(new SharedArrayBuffer(length))
  const all = Buffer.from(bytes.buffer)
  let at = 0
  // `set` on shared memory takes ten times as long if the two are aligned differently.
  for (const piece of pieces) at += piece.copy(all, at)
  return bytes
}

export function isSharedText(value: unknown): value is SharedText {
  return value instanceof Uint8Array && value.buffer instanceof SharedArrayBuffer
}

export function textOfShared({ buffer }: SharedText): string {
  return Buffer.from(buffer).toString()
}

export function asText(text: string | SharedText): string {
  return isSharedText(text) ? textOfShared(text) : text
}

/** A type with shared texts in place of its texts. */
export type WithSharedTexts<T> = T extends string
  ? T | SharedText
  : T extends Uint8Array | SharedArrayBuffer
    ? T
    : T extends object
      ? { [Key in keyof T]: WithSharedTexts<T[Key]> }
      : T

/** The same value with texts in place of shared ones. Changes the value in place. */
export function withTexts<T>(value: WithSharedTexts<T>): T {
  return (isSharedText(value) ? textOfShared(value) : revived(value)) as T
}

function revived(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
  // `in` would make a text of each index.
  if (Array.isArray(value)) for (let index = 0; index < value.length; index++) revive(value, index)
  else for (const key in value) revive(value as Record<string, unknown>, key)
  return value
}

function revive<Key extends string | number>(members: Record<Key, unknown>, key: Key): void {
  const member = members[key]
  if (typeof member !== 'object' || member === null) return
  if (isSharedText(member)) members[key] = textOfShared(member)
  else revived(member)
}

/**
 * A JSON value that is kept as text, because a double would change its digits (P9): the tokens as they were sent, in
 * order, without spaces between them.
 */
export class JsonText {
  /** What is passed to storage and to other threads. */
  readonly stored: string | SharedText

  constructor(stored: string | SharedText) {
    this.stored = stored
  }

  /** Not cached if it is shared, because such a text is large. */
  get text(): string {
    return typeof this.stored === 'string' ? this.stored : textOfShared(this.stored)
  }

  /** In UTF-8. */
  get bytes(): number {
    return typeof this.stored === 'string' ? Buffer.byteLength(this.stored) : this.stored.length
  }

  /** The parsed value. Not cached: most are never needed, and they are large. */
  get value(): unknown {
    return JSON.parse(this.text)
  }

  get exact(): unknown {
    return exactValue(this.text)
  }
}

/** The parsed value, whose numbers keep their digits if the text has at most 16 Ki characters. */
export function exactValue(text: string): unknown {
  return text.length > maxExact ? JSON.parse(text) : parseLossless(text)
}

/** A list that may be long, written in steps. */
export async function jsonList(items: Iterable<unknown>): Promise<JsonText> {
  const texts: string[] = []
  await inSteps(items, (item) => void texts.push(writeJson(item)))
  return new JsonText(`[${texts.join()}]`)
}

/** JSON.stringify that writes a JsonText as its text, and each number with its digits. */
export function writeJson(value: unknown): string {
  if (value instanceof JsonText) return value.text
  if (value instanceof JsonNumber) return value.token
  if (Array.isArray(value)) {
    let text = '['
    for (let i = 0; i < value.length; i++) text += (i > 0 ? ',' : '') + writeJson(value[i])
    return `${text}]`
  }
  if (typeof value === 'object' && value !== null) {
    let text = '{'
    for (const key in value) {
      const member = (value as Record<string, unknown>)[key]
      if (member === undefined) continue
      text += `${text.length > 1 ? ',' : ''}${JSON.stringify(key)}:${writeJson(member)}`
    }
    return `${text}}`
  }
  return JSON.stringify(value) ?? 'null'
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Whether a text is that of a whole object. */
export function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}
