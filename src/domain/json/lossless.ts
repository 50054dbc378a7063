import { membersOf } from './scan.ts'

/**
 * A number that a double cannot write back as it was read: 9007199254740993, 1.0, 1E5.
 * `JSON.stringify` gives the token back, so that numbers leave with the digits they came with.
 */
export class JsonNumber {
  readonly token: string

  constructor(token: string) {
    this.token = token
  }

  toJSON(): unknown {
    return rawJson(this.token)
  }
}

// Node has it since 21; the library types of TypeScript do not know it yet.
const { rawJSON: rawJson } = JSON as unknown as { rawJSON: (token: string) => unknown }

/** A number token that may change in a double: sixteen digits, a fraction, an exponent, a minus before zero. */
const fragile = /(?:^|[\s,:[])(?:-?(?:\d{16}|\d+[.eE])|-0)/

function keepDigits(this: unknown, _key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value
  return String(value) === context.source ? value : new JsonNumber(context.source)
}

/**
 * Like `JSON.parse`, but no number loses a digit. Where a key is given twice, the last one counts; `__proto__` is a key
 * like any other. Throws what `JSON.parse` throws; the depth of a body is bounded before it comes here.
 */
export function parseLossless(text: string): unknown {
  // A reviver costs several times the parse, and most texts have no such number.
  return fragile.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text)
}

/**
 * An object whose names count. The V8 of Node 24 (13.6) may read a name that ends in an escape, as `a"` or `a` with a line end,
 * as `a\\`, where it has read an object with that name behind the same ones before. Names are read one by one here.
 */
export function objectOf(text: string): Record<string, unknown> {
  if (!text.includes('\\')) return JSON.parse(text) as Record<string, unknown>
  const members = [...membersOf(text)].map(([name, value]) => [name, JSON.parse(value)] as const)
  return Object.fromEntries(members)
}
