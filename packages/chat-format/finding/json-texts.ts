/** Where the JSON object that starts at `start` ends; -1 if it does not. */
function objectEnd(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const character = text[at]
    if (character === '"') {
      at = stringEnd(text, at) - 1
      if (at < 0) return -1
    } else if (character === '{' || character === '[') depth++
    else if (character === '}' || character === ']') {
      depth--
      if (depth === 0) return at + 1
    }
  }
  return -1
}

/** Where the JSON string that starts at `start` ends; -1 if it does not. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '"') return at + 1
  }
  return -1
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Ignores the order of keys. */
export function isSame(a: unknown, b: unknown): boolean {
  return ordered(a) === ordered(b)
}

const ordered = (value: unknown): string =>
  JSON.stringify(value, (_, member) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  ) ?? 'undefined'

interface FoundObject {
  start: number
  end: number
  isQuoted: boolean
}

/** The first position from `from` on at which the text has this object as JSON, or its JSON text as a JSON string. */
export function findObject(text: string, value: unknown, from: number): FoundObject | undefined {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '{') {
      const end = objectEnd(text, at)
      if (end !== -1 && isSame(parsed(text.slice(at, end)), value)) return { start: at, end, isQuoted: false }
    } else if (text[at] === '"') {
      const end = stringEnd(text, at)
      const inner = end === -1 ? undefined : parsed(text.slice(at, end))
      if (typeof inner === 'string' && inner.trimStart().startsWith('{') && isSame(parsed(inner), value)) {
        return { start: at, end, isQuoted: true }
      }
    }
  }
  return undefined
}
