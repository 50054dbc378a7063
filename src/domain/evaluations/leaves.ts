import { storableText } from '../expressions/text.ts'
import { JsonNumber, parseLossless } from '../lossless-json.ts'

export const leafKinds = { binary: 0, continuous: 1, text: 2 } as const
export type LeafKind = (typeof leafKinds)[keyof typeof leafKinds]

/** A scalar somewhere in what a scorer said. */
export interface ScoreLeaf {
  scorer: string
  /** Keys joined with dots; null when the scorer's value is the scalar itself. */
  path: string | null
  /** In the order of the scores. */
  position: number
  kind: LeafKind
  /** Of a boolean 1 or 0, of a text null. */
  number: number | null
}

/** What one trial may add to the summary: names that fit into an index, and not endless many. */
const longestName = 1000
const mostLeaves = 1000

/** Lists, null and empty objects are no leaves. `json` is the text of the scores, an object. */
export function leavesOf(json: string): ScoreLeaf[] {
  if (json === '{}') return []
  const leaves: ScoreLeaf[] = []

  function add(scorer: string, path: string | null, kind: LeafKind, number: number | null): void {
    if (leaves.length >= mostLeaves || (number !== null && !Number.isFinite(number))) return
    if (Buffer.byteLength(scorer) + Buffer.byteLength(path ?? '') > longestName) return
    leaves.push({ scorer, path, position: leaves.length, kind, number })
  }

  function visit(value: unknown, scorer: string, path: string | null): void {
    if (value instanceof JsonNumber) add(scorer, path, leafKinds.continuous, Number(value.token))
    else if (typeof value === 'boolean') add(scorer, path, leafKinds.binary, Number(value))
    else if (typeof value === 'number') add(scorer, path, leafKinds.continuous, value)
    else if (typeof value === 'string') add(scorer, path, leafKinds.text, null)
    else if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      for (const [key, member] of Object.entries(value)) {
        visit(member, scorer, path === null ? storableText(key) : `${path}.${storableText(key)}`)
      }
    }
  }

  for (const [scorer, value] of Object.entries(parseLossless(json) as object)) {
    visit(value, storableText(scorer), null)
  }
  return leaves
}
