import type { PieceReader, Source } from './source.ts'

/**
 * Passes on a JSON value unchanged, up to its end. It is not validated: only the ends of its strings and brackets are
 * found. False when the text ends first.
 */
export function* readJson(source: Source, say: (text: string) => void): PieceReader<boolean> {
  let depth = 0
  let isString = false
  let isEscaped = false
  for (;;) {
    const { text, at: from } = source
    let at = from
    let isDone = false
    for (; at < text.length && !isDone; at++) {
      const unit = text.charCodeAt(at)
      if (isEscaped) isEscaped = false
      else if (unit === backslash) isEscaped = isString
      else if (unit === quote) {
        isString = !isString
        isDone = !isString && depth === 0
      } else if (isString) continue
      else if (unit === brace || unit === bracket) depth++
      else if (unit === closingBrace || unit === closingBracket) isDone = --depth <= 0
    }
    say(text.slice(from, at))
    source.at = at
    if (isDone) return true
    if (source.isOver) return false
    yield
  }
}

const quote = 0x22
const backslash = 0x5c
const bracket = 0x5b
const closingBracket = 0x5d
const brace = 0x7b
const closingBrace = 0x7d

/** An escape of a JSON string. */
export function jsonEscapeAt(text: string, at: number): { says: string; end: number } | undefined {
  const end = endOfEscape(text, at)
  return end <= text.length ? { says: unescaped(text.slice(at, end)), end } : undefined
}

/** Two escapes for one character are read together, so that no half of it is passed on. */
function endOfEscape(text: string, at: number): number {
  if (text[at + 1] !== 'u') return at + 2
  const isHigh = /^[dD][89abAB]/.test(text.slice(at + 2, at + 4))
  if (!isHigh) return at + 6
  if (text.length <= at + 6) return at + 12
  if (text[at + 6] !== '\\') return at + 6
  return text[at + 7] === 'u' || text.length <= at + 7 ? at + 12 : at + 6
}

function unescaped(sequence: string): string {
  try {
    return String(JSON.parse(`"${sequence}"`))
  } catch {
    return sequence
  }
}
