import { transcriptOf } from '../../packages/conversations/index.ts'
import { type JsonNode, membersOf, nodeAt, sourceOf, stringOf } from '../value/json-index.ts'
import { conversationIn } from '../value/messages.ts'
import { parseRef } from '../value/ref.ts'
import { type Created, createObject, type ObjectVersion, readObject, readVersions } from './objects.ts'
import { RefusedError, requestJson } from './request.ts'

/** The digest and the project of the table that holds the rows of an object. */
export function tableOf(val: JsonNode): { project: string; table: string } | undefined {
  const ref = parseRef(stringOf(nodeAt(val, 'rows')) ?? '')
  return ref?.kind === 'table' ? { project: ref.project, table: ref.name } : undefined
}

/** The newest version of each. */
export const readDatasets = (project: string, signal: AbortSignal): Promise<ObjectVersion[]> =>
  readVersions({ project, classes: ['Dataset'], latestOnly: true, limit: 500 }, signal)

/** A value beyond this many bytes has rows in itself, which are not read to count them. */
const maxRead = 20_000

interface DatasetFacts {
  rows: number | undefined
  description: string
}

/** How many rows each of them has, and its description, by its name; none for those that hold many rows themselves. */
export async function readDatasetFacts(
  project: string,
  datasets: readonly ObjectVersion[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, DatasetFacts>> {
  const small = datasets.filter(({ size_bytes }) => size_bytes <= maxRead)
  if (small.length === 0) return new Map()
  const filter = { object_ids: small.map(({ object_id }) => object_id), latest_only: true }
  const { objs } = await requestJson<{
    objs: { object_id: string; val: { rows?: unknown; description?: unknown } }[]
  }>('/objs/query', { body: { project_id: project, filter }, signal })
  const refs = objs.map(({ val }) => (typeof val.rows === 'string' ? parseRef(val.rows) : undefined))
  const digests = refs.flatMap((ref) => (ref?.kind === 'table' && ref.project === project ? ref.name : []))
  const { tables } = await requestJson<{ tables: { digest: string; count: number }[] }>(
    '/table/query_stats_batch',
    { body: { project_id: project, digests }, signal },
  )
  const counts = new Map(tables.map(({ digest, count }) => [digest, count]))
  return new Map(
    objs.map(({ object_id, val: { rows, description } }, index) => [
      object_id,
      {
        rows: Array.isArray(rows) ? rows.length : counts.get(refs[index]?.name ?? ''),
        description: typeof description === 'string' ? description : '',
      },
    ]),
  )
}

/** Each row is JSON, with its digits. */
export function makeDataset(project: string, name: string, rows: readonly string[]): Promise<Created> {
  const json = `{"name":${JSON.stringify(name)},"rows":[${rows.join(',')}]}`
  const path = project.split('/').map(encodeURIComponent).join('/')
  return requestJson<Created>(`/v2/${path}/datasets`, { json })
}

/** Writes a version with these rows appended. Rows that others write at the same time are kept. */
export const addRows = (project: string, dataset: string, rows: readonly string[]): Promise<Created> =>
  changeTable(
    project,
    dataset,
    rows.map((row) => `{"append":{"row":${row}}}`),
  )

/** Writes a version in which a row of the version that was shown is replaced, or deleted if there is no new one. */
export function changeRow(
  project: string,
  { object_id, digest }: Created,
  index: number,
  row?: string,
): Promise<Created> {
  const updates = [`{"pop":{"index":${index}}}`]
  if (row !== undefined) updates.push(`{"insert":{"index":${index},"row":${row}}}`)
  return changeTable(project, object_id, updates, digest)
}

const tries = 5

/** `shown` is the version that the updates are about; without it they hold for any. */
async function changeTable(
  project: string,
  dataset: string,
  updates: readonly string[],
  shown?: string,
): Promise<Created> {
  const { signal } = new AbortController()
  for (let turn = 0; turn < tries; turn++) {
    const latest = await readObject(project, dataset, 'latest', signal)
    refuseNewer(latest, shown)
    const table = tableOf(latest.val)
    const ref = stringOf(nodeAt(latest.val, 'rows'))
    if (table?.project !== project || ref === undefined) {
      throw new Error(`${dataset} holds no table of this project, so no rows can be changed.`)
    }
    const base = JSON.stringify({ project_id: project, base_digest: table.table })
    const json = `${base.slice(0, -1)},"updates":[${updates.join(',')}]}`
    const { digest } = await requestJson<{ digest: string }>('/table/update', { json })
    const changed = JSON.stringify(ref.replace(table.table, digest))
    try {
      return await createObject(project, dataset, withMember(latest.val, 'rows', changed), {
        expected_latest: latest.digest,
      })
    } catch (error) {
      // There is a newer version, whose rows would be lost.
      if (!(error instanceof RefusedError) || error.code !== 'object_changed') throw error
    }
  }
  throw new Error(`Others are writing ${dataset}. Try again.`)
}

/** Writes a version with another description. */
export async function describeDataset(
  project: string,
  { object_id, digest }: Created,
  text: string,
): Promise<Created> {
  const latest = await readObject(project, object_id, 'latest', new AbortController().signal)
  refuseNewer(latest, digest)
  return createObject(project, object_id, withMember(latest.val, 'description', JSON.stringify(text)), {
    expected_latest: digest,
  })
}

function refuseNewer({ object_id, digest, version_index }: ObjectVersion, shown = digest): void {
  if (digest === shown) return
  throw new Error(`${object_id} has a newer version, v${version_index}. Reload the page to change that one.`)
}

/** An object as JSON, in which a member has this JSON. */
function withMember(val: JsonNode, name: string, json: string): string {
  const { text, start, end } = val
  const node = nodeAt(val, name)
  if (node !== undefined) return text.slice(start, node.start) + json + text.slice(node.end, end)
  const rest = membersOf(val).length > 0 ? `,${text.slice(start + 1, end)}` : '}'
  return `{${JSON.stringify(name)}:${json}${rest}`
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
