import { digestOf, digestOfJson } from '../digests.ts'
import { isPresent, membersOf } from '../expressions/json-value.ts'
import { storableText } from '../text.ts'

export const exampleKinds = { none: 0, inline: 1, ref: 2, scalar: 3 } as const
type ExampleKind = (typeof exampleKinds)[keyof typeof exampleKinds]

/** The row that a trial is about. */
export interface Example {
  /** Of the content alone: the same row inline, in a table or in another dataset is one row. */
  digest: string
  kind: ExampleKind
  /** JSON of an object or a list. */
  inline?: string
}

/** Something before the marker, and a last segment without a slash. */
const rowRef = /^.+\/attr\/rows\/id\/([^/]+)$/s

/** A longer last segment is not one of our digests and would not fit into an index. */
const maxTailLength = 200

/** The digest at the end of a ref to a dataset row; undefined if the text is not such a ref. */
export function rowDigestOfRef(text: string): string | undefined {
  const tail = rowRef.exec(text)?.[1]
  return tail !== undefined && tail.length <= maxTailLength ? storableText(tail) : undefined
}

/** `json` is the stored text of `inputs.example`, if there is one. */
export function exampleOf(json: string | undefined): Example {
  if (!isPresent(json)) return { digest: digestOf('null'), kind: exampleKinds.none }
  if (json[0] === '"') {
    const text = JSON.parse(json) as string
    const tail = rowDigestOfRef(text)
    if (tail !== undefined) return { digest: tail, kind: exampleKinds.ref }
    return { digest: digestOf(text.toWellFormed()), kind: exampleKinds.scalar }
  }
  const kind = json[0] === '{' || json[0] === '[' ? exampleKinds.inline : exampleKinds.scalar
  return { digest: digestOfJson(json), kind, ...(kind === exampleKinds.inline && { inline: json }) }
}

/** The brief of a row is stored with each trial, so that rows can be sorted and filtered without reading the calls. */
const maxBriefLength = 200
const maxMemberLength = 64

/** The short members of a row, after a digit that tells whether they are the whole row. */
export function briefOf(row: string): string {
  // No text has more characters than bytes.
  if (row.length <= maxBriefLength && Buffer.byteLength(row) <= maxBriefLength) return `1${row}`
  if (row[0] !== '{') return '0{}'
  const members: string[] = []
  let size = 0
  for (const { key, value } of membersOf(row)) {
    if (key.length > maxMemberLength || value.length > maxMemberLength) continue
    const member = `${key}:${value}`
    size += Buffer.byteLength(member) + 1
    if (size > maxBriefLength) break
    members.push(member)
  }
  return `0{${members.join(',')}}`
}
