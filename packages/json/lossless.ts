import { membersOf } from './scan.ts'

const mark = 0n

/**
 * A number that a double cannot write back as it was read: 9007199254740993, 1.0, 1E5. `JSON.stringify` writes the
 * original token, so that numbers leave with the digits they came with.
 */
export class JsonNumber {
  readonly token: string
  /** JSON has no bigint: by it `revivedNumbers` tells a clone from an object with a member `token`. */
  readonly mark = mark

  constructor(token: string) {
    this.token = token
  }

  toJSON(): unknown {
    return rawJson(this.token)
  }
}

// Node has it since 21; TypeScript's library types do not yet.
const { rawJSON: rawJson } = JSON as unknown as { rawJSON: (token: string) => unknown }

/** A number token that a double may change: sixteen digits, a fraction, an exponent, a minus before zero. */
const fragile = /(?:^|[\s,:[])(?:-?(?:\d{16}|\d+[.eE])|-0)/

function keepDigits(this: unknown, _key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value
  return String(value) === context.source ? value : new JsonNumber(context.source)
}

/**
 * Like `JSON.parse`, but no number loses a digit. If a key is repeated, the last one counts; `__proto__` is a key like
 * any other. Throws what `JSON.parse` throws; callers have already bounded the depth of the body.
 */
export function parseLossless(text: string): unknown {
  // A reviver costs several times the parse, and most texts have no such number.
  return fragile.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text)
}

/**
 * The same value with the numbers that became plain objects on the way from another thread or process. Changes it in
 * place.
 */
export function revivedNumbers<T>(root: T): T {
  const holder = { root }
  const pending: object[] = [holder]
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    for (const [name, value] of Object.entries(at)) {
      if (typeof value !== 'object' || value === null) continue
      // An assignment to `__proto__` would be another one.
      if (value.mark === mark) Object.defineProperty(at, name, { value: new JsonNumber(value.token) })
      else pending.push(value)
    }
  }
  return holder.root
}

/**
 * An object whose names must be exact. The V8 of Node 24 (13.6) may misread a name that ends in an escape: once it has
 * read an object with the name `a\\` after the same members, it may read `a"`, or `a` with a line end, as that name.
 * Here names are read one by one.
 */
export function objectOf(text: string): Record<string, unknown> {
  if (!text.includes('\\')) return JSON.parse(text) as Record<string, unknown>
  const members = [...membersOf(text)].map(([name, value]) => [name, JSON.parse(value)] as const)
  return Object.fromEntries(members)
}
