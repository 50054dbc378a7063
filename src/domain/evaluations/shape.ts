import { textOfNumber } from '../expressions/json-value.ts'
import { parseNumber } from '../expressions/numbers.ts'
import { storableText } from '../expressions/text.ts'
import { JsonNumber } from '../lossless-json.ts'
import { isTooLong, kindOf, type LeafKind, nameOf, type Scalar, walkScores } from './leaves.ts'

/** Columns that a trial has for the scalars of its scores. */
export const slotCount = 24

/** A scalar of the scores: its kind and the keys that lead to it. */
export type ShapeLeaf = readonly [kind: LeafKind, ...keys: string[]]

/** The trials of an evaluation mostly have one shape: the same scalars in the same order, of the same kinds. */
export interface Shaped {
  leaves: ShapeLeaf[]
  /** What each reads as when it is read as a number; of a boolean 1 or 0. */
  numbers: (number | null)[]
}

/** Undefined when the columns would not say everything that the scores do. */
export function shapeOf(scores: string): Shaped | undefined {
  const leaves: ShapeLeaf[] = []
  const numbers: (number | null)[] = []
  let isPlain = true
  walkScores(scores, (keys, value) => {
    if (!isPlain) return
    const number = plainNumber(value)
    isPlain =
      number !== undefined &&
      leaves.length < slotCount &&
      keys.every((key) => key === storableText(key)) &&
      !isTooLong(nameOf(keys))
    leaves.push([kindOf(value), ...keys])
    numbers.push(number ?? null)
  })
  return isPlain ? { leaves, numbers } : undefined
}

/** Null for a text that is no number; undefined where a query could tell the number from what was sent. */
function plainNumber(value: Scalar): number | null | undefined {
  if (typeof value === 'boolean') return Number(value)
  const text = value instanceof JsonNumber ? textOfNumber(value.token) : String(value)
  if (text === 'true' || text === 'false') return undefined
  const exact = parseNumber(text)
  if (exact === null) return typeof value === 'string' ? null : undefined
  const number = Number(exact)
  if ((number === 0 || number === 1) && text !== String(number)) return undefined
  if (Number.isInteger(number)) return Number.isSafeInteger(number) ? number : undefined
  const size = Math.abs(number)
  return size < 1e15 && size >= 1e-15 ? number : undefined
}
