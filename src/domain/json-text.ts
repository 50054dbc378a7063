import type { Breathe } from './breathing.ts'

/**
 * A JSON value that is kept as text, because a double would change its digits (P9): the tokens as they were sent, in
 * their order, without the space between them. `value` is the same value as JavaScript reads it, for looking only.
 */
export class JsonText {
  readonly text: string
  readonly value: unknown

  constructor(text: string, value?: unknown) {
    this.text = text
    this.value = value
  }
}

/** Where in a body the values stand that are kept as text. */
export type KeepPlan = 'keep' | KeepBranch
export interface KeepBranch {
  fields?: ReadonlyMap<string, KeepPlan>
  items?: KeepPlan
}

export class TooDeep extends Error {}

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

/** Parses a body and puts the text itself in the places that the plan names. Throws SyntaxError or TooDeep. */
export function parseKeeping(text: string, plan: KeepPlan, deepest: number): unknown {
  const value: unknown = JSON.parse(text)
  const holder = { value }
  const scan = new Scan(text, deepest)
  scan.lift(scan.space(0), plan, holder, 'value', 1)
  return holder.value
}

/**
 * The same for a body whose bulk is one long list: item by item, so that other requests go on meanwhile. Every piece is
 * parsed on its own; what is left with the list taken out is parsed as well, so nothing that is not JSON passes.
 */
export async function parseKeepingInSteps(
  text: string,
  plan: KeepPlan,
  deepest: number,
  breathe: Breathe,
): Promise<unknown> {
  const { path, items } = longListOf(plan)
  const scan = new Scan(text, deepest)
  let from = scan.space(0)
  let to = text.length
  for (const name of path) {
    if (text.charCodeAt(from) !== openBrace) return parseKeeping(text, plan, deepest)
    const object = from
    from = -1
    scan.members(object, (member, start, end) => {
      if (member === name) [from, to] = [start, end]
    })
  }
  if (
    path.length === 0 ||
    text.charCodeAt(from) !== openBracket ||
    text.charCodeAt(to - 1) !== closeBracket
  ) {
    return parseKeeping(text, plan, deepest)
  }

  const list: unknown[] = []
  let at = scan.space(from + 1)
  while (at < to - 1) {
    const end = scan.skip(at, path.length + 2)
    const item = text.slice(at, end)
    const within = deepest - path.length - 1
    list.push(
      item.length < largeItem
        ? parseKeeping(item, items, within)
        : await parseKeepingInSteps(item, items, within, breathe),
    )
    at = scan.space(end)
    if (at < to - 1) {
      if (text.charCodeAt(at) !== comma) throw new SyntaxError(`Expected ',' or ']' at position ${at}`)
      at = scan.space(at + 1)
      if (at >= to - 1) throw new SyntaxError(`Unexpected ']' at position ${at}`)
    }
    const pause = breathe()
    if (pause) await pause
  }
  const body = parseKeeping(`${text.slice(0, from)}0${text.slice(to)}`, plan, deepest)
  let holder = body as Record<string, unknown>
  for (const name of path.slice(0, -1)) holder = holder[name] as Record<string, unknown>
  holder[path.at(-1) as string] = list
  return body
}

/** An item of this length may have a long list of its own. */
const largeItem = 64 * 1024

/** The first list of a plan that has places inside its items, and the way to it; no way when there is none. */
function longListOf(plan: KeepPlan): { path: string[]; items: KeepPlan } {
  if (plan === 'keep') return { path: [], items: plan }
  for (const [name, member] of plan.fields ?? []) {
    if (member === 'keep') continue
    if (member.items) return { path: [name], items: member.items }
    const inner = longListOf(member)
    if (inner.path.length > 0) return { path: [name, ...inner.path], items: inner.items }
  }
  return { path: [], items: plan }
}

/**
 * Walks JSON by what tells where values begin and end, and leaves it to JSON.parse to say whether each piece is sound. It
 * ends on any text.
 */
class Scan {
  readonly #text: string
  readonly #deepest: number
  #spaced = false

  constructor(text: string, deepest: number) {
    this.#text = text
    this.#deepest = deepest
  }

  space(at: number): number {
    const text = this.#text
    if (!isSpace(text.charCodeAt(at))) return at
    this.#spaced = true
    let i = at + 1
    while (isSpace(text.charCodeAt(i))) i++
    return i
  }

  /** Answers where the value ends that begins at `at`. */
  lift(at: number, plan: KeepPlan | undefined, holder: object, key: string | number, depth: number): number {
    const first = this.#text.charCodeAt(at)
    if (plan === 'keep') return this.#keep(at, first, holder, key, depth)
    if (plan !== undefined && first === openBrace && plan.fields) {
      return this.#object(at, plan.fields, inside(holder, key), depth)
    }
    if (plan !== undefined && first === openBracket && plan.items) {
      return this.#list(at, plan.items, inside(holder, key), depth)
    }
    return this.skip(at, depth)
  }

  #keep(at: number, first: number, holder: object, key: string | number, depth: number): number {
    this.#spaced = false
    const end = this.skip(at, depth)
    if (!Object.hasOwn(holder, key)) return end
    const target = holder as Record<string | number, unknown>
    if (first === 0x6e) {
      // null says "not given" in every contract, so it stays null, also behind a value of a key that is given twice.
      target[key] = null
    } else {
      const slice = this.#text.slice(at, end)
      target[key] = new JsonText(this.#spaced ? compactJson(slice) : slice, target[key])
    }
    return end
  }

  #object(at: number, fields: ReadonlyMap<string, KeepPlan>, target: object, depth: number): number {
    this.#bound(depth)
    return this.#members(at, (name, from) => this.lift(from, fields.get(name), target, name, depth + 1))
  }

  members(at: number, visit: (name: string, from: number, to: number) => void): void {
    this.#members(at, (name, from) => {
      const to = this.skip(from, 1)
      visit(name, from, to)
      return to
    })
  }

  items(at: number, visit: (from: number, to: number) => void): void {
    this.#items(at, (from) => {
      const to = this.skip(from, 1)
      visit(from, to)
      return to
    })
  }

  /** `member` is told where a value begins and answers where it ends. */
  #members(at: number, member: (name: string, from: number) => number): number {
    const text = this.#text
    let i = this.space(at + 1)
    if (text.charCodeAt(i) === closeBrace) return i + 1
    for (;;) {
      if (text.charCodeAt(i) !== quote) throw new SyntaxError(`Expected '"' at position ${i}`)
      const keyEnd = this.#string(i)
      const raw = text.slice(i + 1, keyEnd - 1)
      const name = raw.includes('\\') ? (JSON.parse(text.slice(i, keyEnd)) as string) : raw
      i = this.space(this.space(keyEnd) + 1)
      i = this.space(member(name, i))
      if (text.charCodeAt(i) !== comma) return i + 1
      i = this.space(i + 1)
    }
  }

  #list(at: number, items: KeepPlan, target: object, depth: number): number {
    this.#bound(depth)
    return this.#items(at, (from, index) => this.lift(from, items, target, index, depth + 1))
  }

  /** `item` is told where a value begins and answers where it ends. */
  #items(at: number, item: (from: number, index: number) => number): number {
    const text = this.#text
    let i = this.space(at + 1)
    if (text.charCodeAt(i) === closeBracket) return i + 1
    for (let index = 0; ; index++) {
      i = this.space(item(i, index))
      if (text.charCodeAt(i) !== comma) return i + 1
      i = this.space(i + 1)
    }
  }

  skip(at: number, depth: number): number {
    const text = this.#text
    const first = text.charCodeAt(at)
    if (first === quote) return this.#string(at)
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
        i = this.#string(i)
        continue
      }
      i++
      if (code === openBrace || code === openBracket) this.#bound(depth + open++)
      else if (code === closeBrace || code === closeBracket) {
        if (--open === 0) return i
      } else if (isSpace(code)) this.#spaced = true
    }
  }

  #string(at: number): number {
    const text = this.#text
    for (let end = text.indexOf('"', at + 1); ; end = text.indexOf('"', end + 1)) {
      if (end === -1) throw new SyntaxError('Unterminated string in JSON')
      let slashes = 0
      while (text.charCodeAt(end - 1 - slashes) === backslash) slashes++
      if (slashes % 2 === 0) return end + 1
    }
  }

  #bound(depth: number): void {
    if (depth > this.#deepest) throw new TooDeep()
  }
}

function inside(holder: object, key: string | number): object {
  const value = (holder as Record<string | number, unknown>)[key]
  // A key given twice: the text walked here is not the value that won.
  return typeof value === 'object' && value !== null ? value : {}
}

/** The members of an object's text, each as its text; the last of a repeated key counts. */
export function membersOf(text: string): Map<string, string> {
  const members = new Map<string, string>()
  const scan = new Scan(text, Number.POSITIVE_INFINITY)
  scan.members(scan.space(0), (name, from, to) => members.set(name, text.slice(from, to)))
  return members
}

/** The items of a list's text, each as its text. */
export function itemsOf(text: string): string[] {
  const items: string[] = []
  const scan = new Scan(text, Number.POSITIVE_INFINITY)
  scan.items(scan.space(0), (from, to) => items.push(text.slice(from, to)))
  return items
}

/** The same tokens without the space between them. */
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

/** JSON.stringify that writes a JsonText as the text that it is. */
export function writeJson(value: unknown): string {
  if (value instanceof JsonText) return value.text
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
