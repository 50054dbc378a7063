/** A number as it was written, so that a comparison sees every digit of it. */
export interface Digits {
  digits: string
}

/** JSON with its numbers as they are written: 1.0 is not 1, and 9007199254740993 is not 9007199254740992. */
export function parseWithDigits(text: string): unknown {
  const parse = JSON.parse as (text: string, reviver: Reviver) => unknown
  return parse(text, (_key, value, { source }) => (typeof value === 'number' ? { digits: source } : value))
}

// Node has the third argument since 21; the library types of TypeScript do not have it yet.
type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown
