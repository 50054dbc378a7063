const quote = 0x22
const backslash = 0x5c
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d
const comma = 0x2c

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/**
 * Finds where the values of a JSON text begin and end. It does not validate them: JSON.parse does that, piece by piece.
 * It terminates on any text.
 *
 * To walk a list or an object use `enter` and `after`, which return where the next item or key begins, or -1 if there
 * is none; `end` is then the end of the list or object.
 */
export class Scan {
  readonly text: string
  /** The end of the list or object that was walked last. */
  end = 0
  /** The key that was read last. */
  name = ''

  constructor(text: string) {
    this.text = text
  }

  space(at: number): number {
    const { text } = this
    let i = at
    while (isSpace(text.charCodeAt(i))) i++
    return i
  }

  isObject(at: number): boolean {
    return this.text.charCodeAt(at) === openBrace
  }

  isList(at: number): boolean {
    return this.text.charCodeAt(at) === openBracket
  }

  enter(at: number): number {
    const i = this.space(at + 1)
    return this.#closes(i) ? -1 : i
  }

  /** Continues after a value. */
  after(valueEnd: number): number {
    const i = this.space(valueEnd)
    if (this.text.charCodeAt(i) === comma) return this.space(i + 1)
    if (!this.#closes(i)) throw new SyntaxError(`Expected ',' at position ${i}`)
    return -1
  }

  #closes(at: number): boolean {
    const code = this.text.charCodeAt(at)
    if (code !== closeBrace && code !== closeBracket) return false
    this.end = at + 1
    return true
  }

  /** Reads the key at this position into `name` and returns where its value begins. */
  key(at: number): number {
    const { text } = this
    if (text.charCodeAt(at) !== quote) throw new SyntaxError(`Expected '"' at position ${at}`)
    const end = stringEnd(text, at)
    const raw = text.slice(at + 1, end - 1)
    this.name = raw.includes('\\') ? (JSON.parse(text.slice(at, end)) as string) : raw
    return this.space(this.space(end) + 1)
  }

  /** Returns the end of the value that begins here. */
  skip(at: number): number {
    const { text } = this
    const first = text.charCodeAt(at)
    if (first === quote) return stringEnd(text, at)
    let i = at
    if (first !== openBrace && first !== openBracket) {
      for (; i < text.length; i++) {
        const code = text.charCodeAt(i)
        if (code === comma || code === closeBrace || code === closeBracket || isSpace(code)) break
      }
      return i
    }
    let open = 0
    for (;;) {
      if (i >= text.length) throw new SyntaxError('Unexpected end of JSON input')
      const code = text.charCodeAt(i)
      if (code === quote) {
        i = stringEnd(text, i)
        continue
      }
      i++
      if (code === openBrace || code === openBracket) open++
      else if ((code === closeBrace || code === closeBracket) && --open === 0) return i
    }
  }
}

/** An escaped quote is often followed by more of them: walking this far costs less than a search for each. */
const walked = 32

/** The end of the string that begins here: after the next quote that is not escaped. */
export function stringEnd(text: string, at: number): number {
  let i = at + 1
  for (;;) {
    const end = text.indexOf('"', i)
    if (end === -1) throw new SyntaxError('Unterminated string in JSON')
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes++
    if (slashes % 2 === 0) return end + 1
    i = end + 1
    for (let until = i + walked; i < until; i++) {
      const code = text.charCodeAt(i)
      if (code === quote) return i + 1
      if (code !== backslash) continue
      i++
      until = i + walked
    }
  }
}

/** Whether the text has more than `most` members and items. Stops counting there. */
export function hasMoreMarks(text: string, most: number): boolean {
  let marks = 0
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at)
    at = code === quote ? stringEnd(text, at) : at + 1
    if ((code === comma || code === openBrace || code === openBracket) && ++marks > most) return true
  }
  return false
}

/** The members of an object's text, each as text; if a key is repeated, the last one counts. */
export function membersOf(text: string, repeated?: (name: string) => void): Map<string, string> {
  const members = new Map<string, string>()
  const scan = new Scan(text)
  let end = 0
  for (let i = scan.enter(scan.space(0)); i !== -1; i = scan.after(end)) {
    const from = scan.key(i)
    end = scan.skip(from)
    if (repeated && members.has(scan.name)) repeated(scan.name)
    members.set(scan.name, text.slice(from, end))
  }
  return members
}

/** Builds the text of an object from such members. */
export function objectText(members: Iterable<readonly [name: string, text: string]>): string {
  let object = '{'
  for (const [name, text] of members)
    object += `${object.length > 1 ? ',' : ''}${JSON.stringify(name)}:${text}`
  return `${object}}`
}

/** The items of a list's text, each as text. */
export function itemsOf(text: string): string[] {
  const items: string[] = []
  const scan = new Scan(text)
  let end = 0
  for (let i = scan.enter(scan.space(0)); i !== -1; i = scan.after(end)) {
    end = scan.skip(i)
    items.push(text.slice(i, end))
  }
  return items
}

/** The text of an object as it is stored: without spaces between its tokens, and without these members. */
export function keptJson(text: string, without: readonly string[]): string {
  const compact = compactJson(text)
  // A name may be written with escapes.
  if (!compact.includes('\\u') && !without.some((name) => compact.includes(name))) return compact
  const members = membersOf(compact)
  const has = without.filter((name) => members.delete(name)).length > 0
  return has ? objectText(members) : compact
}

/** The same tokens without spaces between them. */
export function compactJson(text: string): string {
  let compact = ''
  let from = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === quote) {
      for (i++; text.charCodeAt(i) !== quote; i++) if (text.charCodeAt(i) === backslash) i++
    } else if (isSpace(code)) {
      compact += text.slice(from, i)
      while (isSpace(text.charCodeAt(i + 1))) i++
      from = i + 1
    }
  }
  return compact + text.slice(from)
}

/** An object or a list that comes in pieces: each character is looked at once, however many pieces there are. */
export interface Nesting {
  add(piece: string): void
  /** Whether it has begun, and all that was opened outside of texts is closed. */
  isClosed(): boolean
}

export function createNesting(): Nesting {
  let depth = 0
  let text: 'plain' | 'escaped' | undefined
  let hasOpened = false
  return {
    add(piece) {
      for (const letter of piece) {
        if (text === 'escaped') text = 'plain'
        else if (text === 'plain') text = letter === '"' ? undefined : letter === '\\' ? 'escaped' : 'plain'
        else if (letter === '"') text = 'plain'
        else if (letter === '{' || letter === '[') depth++
        else if (letter === '}' || letter === ']') depth--
        hasOpened ||= depth > 0
      }
    },
    isClosed: () => hasOpened && depth === 0 && text === undefined,
  }
}
