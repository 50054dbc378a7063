import { stringEnd } from '../../../packages/json/index.ts'

/** The most characters read of one string. */
export const maxReadLength = 480
/** A text up to this size is read as it is. */
const small = 16 << 10
/** A text that is still longer than this without its long strings is not read; few values are. */
const maxParsedLength = 256 << 10

const backslash = 0x5c

/** A JSON value with its long strings truncated; undefined if it is still too large. */
export function briefly(json: string): unknown {
  const text = shortJson(json)
  return text === undefined ? undefined : JSON.parse(text)
}

/** The same as a text. */
export function shortJson(json: string): string | undefined {
  const text = json.length <= small ? json.trimStart() : shortened(json.trimStart())
  return text.length <= maxParsedLength ? text : undefined
}

function shortened(json: string): string {
  let short = ''
  let from = 0
  let end = 0
  for (let at = json.indexOf('"'); at !== -1; at = json.indexOf('"', end)) {
    end = stringEnd(json, at)
    if (end - at <= maxReadLength) continue
    short += `${json.slice(from, cutWithin(json, at + maxReadLength))}"`
    from = end
    if (short.length > maxParsedLength) return short
  }
  return short + json.slice(from)
}

/** Moves the cut before an escape that it would split. */
function cutWithin(json: string, at: number): number {
  const mark = json.lastIndexOf('\\', at)
  let cut = mark > at - 6 ? mark : at
  while (json.charCodeAt(cut - 1) === backslash) cut--
  return cut
}

export type Members = { readonly [name: string]: unknown }

export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
