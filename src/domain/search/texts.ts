import { stringEnd } from '../../../packages/json/index.ts'

/** The most characters read of a document, and the most of its texts that are indexed. */
export const maxDocumentLength = 128 << 10
export const maxTextsLength = 32 << 10

/** Members that contain tokens, bytes or names of types, not text. */
const withoutTexts = new Set([
  'logprobs',
  'prompt_logprobs',
  'embedding',
  'b64_json',
  'encrypted_content',
  'weave_type',
])

/** A string with this many characters and no space is a picture, a key or an address. */
const maxWithoutSpace = 512

const colon = 0x3a

/**
 * The strings among the values of a JSON text without spaces, in order, up to `maxTextsLength`. The text may be cut off
 * anywhere: large documents are truncated before they get here.
 */
export function textsIn(json: string): string[] {
  const texts: string[] = []
  let total = 0
  for (let at = json.indexOf('"'); at !== -1 && total < maxTextsLength; ) {
    const end = endOf(json, at)
    const raw = json.slice(at + 1, end - 1)
    if (json.charCodeAt(end) === colon) {
      at = json.indexOf('"', withoutTexts.has(raw) ? behind(json, end + 1) : end)
      continue
    }
    const text = raw.includes('\\') ? unescaped(raw) : raw
    if (text !== '' && !isBlob(text)) {
      const clipped = text.length > maxTextsLength - total ? text.slice(0, maxTextsLength - total) : text
      texts.push(clipped)
      total += clipped.length
    }
    at = json.indexOf('"', end)
  }
  return texts
}

/** A document that is cut off is treated as if it were closed there. */
function endOf(json: string, at: number): number {
  try {
    return stringEnd(json, at)
  } catch {
    return json.length + 1
  }
}

/** A truncated string may end within an escape. */
function unescaped(raw: string): string {
  return parsed(raw) ?? parsed(raw.replace(/\\(?:u[0-9a-f]{0,3})?$/i, '')) ?? ''
}

function parsed(raw: string): string | undefined {
  try {
    return JSON.parse(`"${raw}"`) as string
  } catch {
    return undefined
  }
}

const isBlob = (text: string) =>
  text.length > maxWithoutSpace && !/[\s\u0080-\uffff]/.test(text.slice(0, maxWithoutSpace))

/** The end of the value that begins here. */
function behind(json: string, from: number): number {
  let open = 0
  for (let at = from; at < json.length; at++) {
    const char = json[at]
    if (char === '"') at = endOf(json, at) - 1
    else if (char === '[' || char === '{') open++
    else if (char === ']' || char === '}') open--
    if (open <= 0 && (char === ']' || char === '}' || char === ',')) return at
  }
  return json.length
}
