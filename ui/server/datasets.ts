import { transcriptOf } from '../../packages/conversations/index.ts'
import { type JsonNode, nodeAt, sourceOf, stringOf } from '../value/json-index.ts'
import { conversationIn } from '../value/messages.ts'
import { parseRef } from '../value/ref.ts'
import { type Created, createObject, type ObjectVersion, readObject, readVersions } from './objects.ts'
import { requestJson } from './request.ts'

/** The digest and the project of the table that holds the rows of an object. */
export function tableOf(val: JsonNode): { project: string; table: string } | undefined {
  const ref = parseRef(stringOf(nodeAt(val, 'rows')) ?? '')
  return ref?.kind === 'table' ? { project: ref.project, table: ref.name } : undefined
}

/** The newest version of each. */
export const readDatasets = (project: string, signal: AbortSignal): Promise<ObjectVersion[]> =>
  readVersions({ project, classes: ['Dataset'], latestOnly: true, limit: 500 }, signal)

/** Each row is JSON, with its digits. */
export function makeDataset(project: string, name: string, rows: readonly string[]): Promise<Created> {
  const json = `{"name":${JSON.stringify(name)},"rows":[${rows.join(',')}]}`
  const path = project.split('/').map(encodeURIComponent).join('/')
  return requestJson<Created>(`/v2/${path}/datasets`, { json })
}

const tries = 5

/** Writes a version with these rows appended. Rows that others write at the same time are kept. */
export async function addRows(project: string, dataset: string, rows: readonly string[]): Promise<Created> {
  const { signal } = new AbortController()
  const updates = rows.map((row) => `{"append":{"row":${row}}}`).join(',')
  for (let turn = 0; turn < tries; turn++) {
    const latest = await readObject(project, dataset, 'latest', signal)
    const table = tableOf(latest.val)
    const ref = nodeAt(latest.val, 'rows')
    if (table?.project !== project || ref === undefined) {
      throw new Error(`${dataset} holds no table of this project, so no rows can be added.`)
    }
    const given = JSON.stringify({ project_id: project, base_digest: table.table })
    const json = `${given.slice(0, -1)},"updates":[${updates}]}`
    const { digest } = await requestJson<{ digest: string }>('/table/update', { json })
    // If there is a newer version by now, its rows would be lost.
    const newest = await readVersions({ project, objects: [dataset], latestOnly: true }, signal)
    if (newest[0]?.digest !== latest.digest) continue
    const { text, start, end } = latest.val
    const newRef = JSON.stringify((stringOf(ref) as string).replace(table.table, digest))
    const val = text.slice(start, ref.start) + newRef + text.slice(ref.end, end)
    return createObject(project, dataset, val)
  }
  throw new Error(`Others are writing ${dataset}. Try again.`)
}

/** What a column can be filled from: a member of the inputs, or the output. */
interface Source {
  /** A path inside the call. */
  path: readonly string[]
  name: string
}

export interface Column extends Source {
  isTaken: boolean
}

/** A row for one call, as JSON. Members that the call does not have are left out. */
export function rowOf(call: JsonNode, columns: readonly Column[]): string {
  const members = columns.flatMap(({ path, name, isTaken }) => {
    const json = isTaken && name.trim() !== '' ? jsonOfColumn(call, path) : undefined
    return json === undefined ? [] : [`${JSON.stringify(name.trim())}:${json}`]
  })
  return `{${members.join(',')}}`
}

/** What was asked and answered are texts, whichever convention recorded them. */
function jsonOfColumn(call: JsonNode, path: readonly string[]): string | undefined {
  const [root, member] = path
  if (root !== 'conversation') {
    const node = nodeAt(call, ...path)
    return node && sourceOf(node)
  }
  const conversation = conversationIn(call)
  const transcript = conversation && transcriptOf(conversation)
  return JSON.stringify(member === 'question' ? transcript?.question : transcript?.answer)
}
