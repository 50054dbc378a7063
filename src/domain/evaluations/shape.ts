import { JsonNumber, parseLossless } from '../../../packages/json/index.ts'
import { textOfNumber } from '../expressions/json-value.ts'
import { parseNumber } from '../expressions/numbers.ts'
import { kindOf, type LeafKind, type Scalar } from './leaves.ts'

/** Columns that a trial has for the scalars of its scores. */
export const slotCount = 20
export const slotNames = Array.from({ length: slotCount }, (_, slot) => `v${slot}` as const)

/** A scalar of the scores: its kind and the keys that lead to it. */
export type ShapeLeaf = readonly [kind: LeafKind, ...keys: string[]]

/** Most trials of an evaluation have the same shape: the same scalars in the same order, of the same kinds. */
export interface Shaped {
  /** JSON list of its leaves. */
  leaves: string
  /** The number that each scalar reads as; 1 or 0 for a boolean. */
  numbers: (number | null)[]
}

/** Numbers that may change when they are parsed: an exponent, or a minus before zero. */
const unusual = /\d[eE]|-0/

/** Undefined if the columns could not represent everything in the scores. `scores` is the text of an object. */
export function shapeOf(scores: string): Shaped | undefined {
  const leaves: string[] = []
  const numbers: (number | null)[] = []

  /** Returns whether all of the value can be represented. `keys` is JSON, with a comma before each key. */
  function add(value: unknown, keys: string): boolean {
    if (value === null || Array.isArray(value)) return true
    if (typeof value === 'object' && !(value instanceof JsonNumber)) {
      for (const key of Object.keys(value)) {
        const name = JSON.stringify(key)
        // A name with an escape may be one that no engine can store.
        if (name.includes('\\') || !add((value as Record<string, unknown>)[key], `${keys},${name}`))
          return false
      }
      return true
    }
    const scalar = value as Scalar
    const number = plainNumber(scalar)
    if (number === undefined || leaves.length === slotCount || keys.length > maxKeysLength) return false
    leaves.push(`[${kindOf(scalar)}${keys}]`)
    numbers.push(number)
    return true
  }

  const value: unknown = unusual.test(scores) ? parseLossless(scores) : JSON.parse(scores)
  return add(value, '') ? { leaves: `[${leaves.join(',')}]`, numbers } : undefined
}

/** Shorter than what a summary would leave out. */
const maxKeysLength = 300

/** Null for a text that is not a number; undefined if a query could tell the number from what was sent. */
function plainNumber(value: Scalar): number | null | undefined {
  if (typeof value === 'boolean') return Number(value)
  // Parsed as JSON, so that 1.0 is already 1, as it is in a query.
  if (typeof value === 'number') return isPlain(value) ? value : undefined
  const text = value instanceof JsonNumber ? textOfNumber(value.token) : value
  if (text === 'true' || text === 'false') return undefined
  const exact = parseNumber(text)
  if (exact === null) return typeof value === 'string' ? null : undefined
  const number = Number(exact)
  if ((number === 0 || number === 1) && text !== String(number)) return undefined
  return isPlain(number) ? number : undefined
}

/** A number that both engines store and compare as the same. */
function isPlain(number: number): boolean {
  if (Number.isInteger(number)) return Number.isSafeInteger(number)
  const size = Math.abs(number)
  return size < 1e15 && size >= 1e-15
}
