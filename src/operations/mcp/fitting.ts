/** Answers are a few thousand tokens at most, because an agent pays for each again and again. */

/** About 2,000 tokens: four bytes each in English, three in most other scripts. */
const maxBytes = 8_000

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '')

/** The first items that fit beside what else the answer has; at least one, so that a reader gets on. */
export function fitting<Item>(items: readonly Item[], besides: object): Item[] {
  // Room for the cursor, and for what was cut.
  let left = maxBytes - 300 - bytesOf(besides)
  const found: Item[] = []
  for (const item of items) {
    left -= bytesOf(item) + 1
    if (left < 0 && found.length > 0) break
    found.push(item)
  }
  return found
}

/** The beginning of a text, on one line. */
export function head(text: string, maxLength: number): string {
  const line = text.slice(0, maxLength + 1).replace(/\s+/g, ' ')
  return text.length <= maxLength ? line : `${line.slice(0, maxLength).toWellFormed()}…`
}

interface Piece {
  text: string
  total_chars: number
  /** Absent at the end. */
  next_offset?: number
}

/** A piece of a long text that fits beside what else the answer has. */
export function pieceOf(whole: string, offset: number, maxChars: number, besides: object): Piece {
  const room = Math.max(400, maxBytes - 300 - bytesOf(besides))
  let end = Math.min(whole.length, offset + maxChars)
  // Escapes and other scripts take more bytes than characters.
  while (end > offset && bytesOf(whole.slice(offset, end)) > room)
    end = offset + Math.floor((end - offset) * 0.8)
  if (isInsidePair(whole, end)) end--
  const text = whole.slice(offset, end).toWellFormed()
  return { text, total_chars: whole.length, ...(end < whole.length && { next_offset: end }) }
}

const isInsidePair = (text: string, at: number): boolean =>
  at > 0 && at < text.length && /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1))

/** The same without members that have no value. */
export function withoutNulls(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null && value !== undefined))
}
