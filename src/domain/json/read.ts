import { compactJson } from '../../../packages/json/index.ts'
import { rememberDigits } from './digits.ts'
import { JsonText } from './text.ts'

/**
 * What a contract accepts at a path of a body. Only these parts are built; the rest is checked to be valid JSON and
 * dropped.
 */
export interface Shape {
  /** Kept as text, but for a list with `items`, and null, which means "not given" in every contract. */
  verbatim?: true
  /** The members that an object may have. */
  fields?: ReadonlyMap<string, Shape>
  /** For all other members; without it they are dropped. */
  others?: Shape
  /** Its members are changed before they are checked, so none of them is known. */
  opaque?: true
  /** For the items of a list. */
  items?: Shape
  /** Only one more than this many items or other members is built; such a value is then refused. */
  most?: number
}

/** Accepts everything. */
export const anyShape: Shape = { fields: new Map() }
Object.assign(anyShape, { others: anyShape, items: anyShape })

/** The text is nested too deeply. */
export class DepthError extends Error {}

/**
 * Reads a JSON text in one pass. Each character is read once, whatever the nesting, and text that is kept or dropped
 * costs no more than its check. Throws SyntaxError or DepthError.
 */
export function readJson(text: string, shape: Shape, deepest: number): unknown {
  const reader = new Reader(text, deepest)
  const value = reader.value(shape, 1)
  reader.end()
  return value
}

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
const nullStart = 0x6e

/** Of an object, one more name that no contract knows is added with null, so that they can be reported. */
export const maxUnknown = 20

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const literals: readonly [text: string, value: boolean | null][] = [
  ['true', true],
  ['false', false],
  ['null', null],
]

class Reader {
  readonly #text: string
  readonly #deepest: number
  #at = 0
  /** Whether there was space between tokens since this was last set to false. */
  #spaced = false
  /** Whether the string that was skipped last has escapes. */
  #escaped = false
  /** The number that was read last, if a double cannot represent it. */
  #token = ''

  constructor(text: string, deepest: number) {
    this.#text = text
    this.#deepest = deepest
  }

  value(shape: Shape, depth: number): unknown {
    const code = this.#next()
    const isKept = shape.verbatim && code !== nullStart && !(code === openBracket && shape.items)
    if (isKept) return this.#kept(depth)
    if (code === openBrace) return this.#object(shape, depth)
    if (code === openBracket) return this.#list(shape, depth)
    return code === quote ? this.#string() : this.#scalar()
  }

  end(): void {
    this.#next()
    if (this.#at < this.#text.length) throw this.#expected('the end')
  }

  /** The code of the next token's first character; leaves the position there. */
  #next(): number {
    const text = this.#text
    let code = text.charCodeAt(this.#at)
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      this.#spaced = true
      code = text.charCodeAt(++this.#at)
    }
    return code
  }

  #expected(what: string): SyntaxError {
    const found = this.#text[this.#at]
    const shown = found === undefined ? 'the end of the text' : JSON.stringify(found)
    return new SyntaxError(`expected ${what} at position ${this.#at}, found ${shown}`)
  }

  #kept(depth: number): JsonText {
    const from = this.#at
    this.#spaced = false
    this.#check(depth)
    const text = this.#text.slice(from, this.#at)
    return new JsonText(this.#spaced ? compactJson(text) : text)
  }

  #object(shape: Shape, depth: number): Record<string, unknown> {
    const { fields, others, most = Number.POSITIVE_INFINITY } = shape
    const members: Record<string, unknown> = {}
    let count = 0
    let unknown = 0
    for (let more = this.#enter(closeBrace, depth); more; more = this.#another(closeBrace)) {
      const name = this.#name()
      let member = fields?.get(name)
      if (member === undefined && others !== undefined) {
        const isNew = !Object.hasOwn(members, name)
        if (!isNew || count <= most) member = others
        if (isNew) count++
      }
      if (member !== undefined) {
        const value = this.value(member, depth + 1)
        put(members, name, value)
        if (isInexact(value)) rememberDigits(members, name, this.#token)
      } else {
        this.#check(depth + 1)
        if (fields !== undefined && others === undefined && unknown++ <= maxUnknown) put(members, name, null)
      }
    }
    return members
  }

  #list({ items, most = Number.POSITIVE_INFINITY }: Shape, depth: number): unknown[] {
    const list: unknown[] = []
    for (let more = this.#enter(closeBracket, depth); more; more = this.#another(closeBracket)) {
      if (items !== undefined && list.length <= most) {
        const value = this.value(items, depth + 1)
        if (isInexact(value)) rememberDigits(list, list.length, this.#token)
        list.push(value)
      } else this.#check(depth + 1)
    }
    return list
  }

  /** Checks a value without building it. */
  #check(depth: number): void {
    const code = this.#next()
    if (code === openBrace) {
      for (let more = this.#enter(closeBrace, depth); more; more = this.#another(closeBrace)) {
        this.#passName()
        this.#check(depth + 1)
      }
    } else if (code === openBracket) {
      for (let more = this.#enter(closeBracket, depth); more; more = this.#another(closeBracket)) {
        this.#check(depth + 1)
      }
    } else if (code === quote) this.#passString()
    else this.#passScalar()
  }

  /** Whether there is a first item or member. */
  #enter(close: number, depth: number): boolean {
    if (depth > this.#deepest) throw new DepthError()
    this.#at++
    if (this.#next() !== close) return true
    this.#at++
    return false
  }

  /** Whether another one follows. */
  #another(close: number): boolean {
    const code = this.#next()
    if (code !== comma && code !== close) throw this.#expected(`"," or "${String.fromCharCode(close)}"`)
    this.#at++
    if (code === close) return false
    this.#next()
    return true
  }

  #name(): string {
    const name = this.#next() === quote ? this.#string() : undefined
    this.#passColon(name !== undefined)
    return name as string
  }

  #passName(): void {
    const isName = this.#next() === quote
    if (isName) this.#passString()
    this.#passColon(isName)
  }

  #passColon(isBehindName: boolean): void {
    if (!isBehindName) throw this.#expected('a name in quotes')
    if (this.#next() !== colon) throw this.#expected('":"')
    this.#at++
  }

  #string(): string {
    const from = this.#at
    this.#passString()
    const text = this.#text
    if (!this.#escaped) return text.slice(from + 1, this.#at - 1)
    return JSON.parse(text.slice(from, this.#at)) as string
  }

  #passString(): void {
    const text = this.#text
    this.#escaped = false
    let at = this.#at + 1
    for (;;) {
      const code = text.charCodeAt(at)
      if (code === quote) break
      if (code === backslash) {
        this.#escaped = true
        const length = escapeLength(text, at)
        if (length === 0) {
          this.#at = at
          throw this.#expected('another escape')
        }
        at += length
      } else if (code >= 0x20) at++
      else {
        this.#at = at
        // Control characters, and the end of the text, where the code is NaN.
        throw this.#expected('a character of a string or its end')
      }
    }
    this.#at = at + 1
  }

  #scalar(): unknown {
    const from = this.#at
    const literal = this.#passScalar()
    if (literal !== undefined) return literal
    const token = this.#text.slice(from, this.#at)
    const value = Number(token)
    if (isInexact(value)) this.#token = token
    return value
  }

  /** The value of a literal; undefined for a number. */
  #passScalar(): boolean | null | undefined {
    const text = this.#text
    number.lastIndex = this.#at
    if (number.test(text)) {
      this.#at = number.lastIndex
      return undefined
    }
    for (const [literal, value] of literals) {
      if (!text.startsWith(literal, this.#at)) continue
      this.#at += literal.length
      return value
    }
    throw this.#expected('a value')
  }
}

const letterU = 0x75

/** By the code of the letter after the backslash. */
const simpleEscapes = new Uint8Array(128)
for (const letter of '"\\/bfnrt') simpleEscapes[letter.charCodeAt(0)] = 1

const isHex = /^[\da-fA-F]{4}$/

/** The length of the escape that begins here; 0 if it is not one. */
function escapeLength(text: string, at: number): number {
  const code = text.charCodeAt(at + 1)
  if (simpleEscapes[code] === 1) return 2
  return code === letterU && isHex.test(text.slice(at + 2, at + 6)) ? 6 : 0
}

/** A whole number beyond 2^53 may be read as a different one. */
function isInexact(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER
}

/** `__proto__` is a name like any other. */
function put(members: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') members[name] = value
  else Object.defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true })
}
