import { newestFirst, readPage, readPayloads } from '../../server/calls.ts'
import { type JsonNode, membersOf, nodeAt, sourceOf, stringOf } from '../../value/json-index.ts'
import { lineOf } from '../../value/messages.ts'
import { parseQuery } from '../calls/parse-query.ts'

/** A judge is tried on these. */
const sampleSize = 3
const maxFields = 40
const maxDepth = 5
const longestShown = 80

interface SampleCall {
  id: string
  node: JsonNode
}

/** The newest calls of the filter. */
export async function readSamples(
  project: string,
  filter: string,
  signal: AbortSignal,
): Promise<SampleCall[]> {
  const parsed = parseQuery(filter)
  if (parsed.problem !== undefined) throw new Error(parsed.problem)
  const view = { project, roots: false, query: parsed.query, sort: newestFirst }
  const ids = (await readPage(view, {}, { offset: 0, limit: sampleSize }, signal)).map(({ id }) => id)
  const payloads = await readPayloads(project, ids, signal)
  return ids.flatMap((id) => {
    const node = payloads.get(id)
    return node === undefined ? [] : [{ id, node }]
  })
}

export interface CallField {
  path: string
  value: string
}

/** The texts and numbers inside a call, which a judge may be asked about; the question and the answer first. */
export function fieldsOf({ node }: SampleCall): CallField[] {
  const fields: CallField[] = []
  const walk = (at: JsonNode, path: string, depth: number) => {
    for (const { name, node: member } of membersOf(at)) {
      if (fields.length >= maxFields) return
      const step = name.replaceAll('.', '\\.')
      const isInner = member.kind === 'object' || member.kind === 'array'
      if (isInner && depth < maxDepth) walk(member, `${path}.${step}`, depth + 1)
      else if (member.kind !== 'null') {
        const value = lineOf((stringOf(member) ?? sourceOf(member)).slice(0, longestShown))
        fields.push({ path: `${path}.${step}`, value })
      }
    }
  }
  for (const root of ['inputs', 'output']) {
    const member = nodeAt(node, root)
    if (member === undefined) continue
    if (member.kind === 'object' || member.kind === 'array') walk(member, root, 0)
    else if (member.kind !== 'null')
      fields.push({ path: root, value: lineOf(sourceOf(member).slice(0, longestShown)) })
  }
  const rank = ({ path }: CallField) => (/content$|question|answer|^output$|prompt/.test(path) ? 0 : 1)
  return fields.toSorted((a, b) => rank(a) - rank(b))
}
