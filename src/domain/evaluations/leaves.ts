import { JsonNumber, parseLossless } from '../../../packages/json/index.ts'
import { storableText } from '../text.ts'

export const leafKinds = { binary: 0, continuous: 1, text: 2 } as const
export type LeafKind = (typeof leafKinds)[keyof typeof leafKinds]

/** A scalar somewhere in the value that a scorer returned. */
interface ScoreLeaf {
  scorer: string
  /** Keys joined with dots; null if the scorer's value is the scalar itself. */
  path: string | null
  /** In the order of the scores. */
  position: number
  kind: LeafKind
  /** 1 or 0 for a boolean, null for a text. */
  number: number | null
}

/** What one trial may add to the summary: names that fit into an index, and a bounded number of them. */
const maxNameBytes = 1000
const maxLeaves = 1000

export type Scalar = boolean | number | string | JsonNumber

/** The name of the scalar at these keys in the summary. */
export function nameOf([scorer = '', ...keys]: readonly string[]): Pick<ScoreLeaf, 'scorer' | 'path'> {
  return { scorer: storableText(scorer), path: keys.length === 0 ? null : storableText(keys.join('.')) }
}

export function kindOf(value: Scalar): LeafKind {
  if (typeof value === 'boolean') return leafKinds.binary
  return typeof value === 'string' ? leafKinds.text : leafKinds.continuous
}

/** Lists, null and empty objects are not leaves. `json` is the text of the scores, an object. */
export function leavesOf(json: string): ScoreLeaf[] {
  const leaves: ScoreLeaf[] = []

  function add(keys: readonly string[], value: Scalar): void {
    const number =
      typeof value === 'string' ? null : Number(value instanceof JsonNumber ? value.token : value)
    if (leaves.length >= maxLeaves || (number !== null && !Number.isFinite(number))) return
    const name = nameOf(keys)
    if (Buffer.byteLength(name.scorer) + Buffer.byteLength(name.path ?? '') > maxNameBytes) return
    leaves.push({ ...name, position: leaves.length, kind: kindOf(value), number })
  }

  function visit(value: unknown, keys: readonly string[]): void {
    if (value instanceof JsonNumber) add(keys, value)
    else if (typeof value === 'object' && value !== null) {
      if (Array.isArray(value)) return
      for (const [key, member] of Object.entries(value)) visit(member, [...keys, key])
    } else if (value !== null) add(keys, value as Scalar)
  }

  visit(parseLossless(json), [])
  return leaves
}
