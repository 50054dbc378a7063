import type { z } from 'zod'
import type { ObjectRecord } from '../../src/operations/objects/contract.ts'
import { type JsonNode, jsonNode, nodeAt, sourceOf, stringOf } from '../value/json-index.ts'
import { objectRefOf } from '../value/ref.ts'
import { request, requestJson } from './request.ts'

/** A version without its value. */
export type ObjectVersion = Omit<z.output<typeof ObjectRecord>, 'val'>

/** A version with its value, whose numbers keep their digits. */
export interface ObjectRead extends ObjectVersion {
  val: JsonNode
}

interface ObjectsView {
  project: string
  /** By their names. */
  objects?: readonly string[]
  classes?: readonly string[]
  isOp?: boolean
  latestOnly?: boolean
  offset?: number
  limit?: number
}

function bodyOf({ project, objects, classes, isOp, latestOnly = false, offset, limit }: ObjectsView) {
  return {
    project_id: project,
    filter: {
      ...(objects && { object_ids: objects }),
      ...(classes && { base_object_classes: classes }),
      ...(isOp !== undefined && { is_op: isOp }),
      latest_only: latestOnly,
    },
    sort_by: [{ field: 'created_at', direction: 'desc' }],
    ...(offset !== undefined && { offset }),
    ...(limit !== undefined && { limit }),
    include_tags_and_aliases: true,
  }
}

/** Without their values, the newest first. */
export async function readVersions(view: ObjectsView, signal: AbortSignal): Promise<ObjectVersion[]> {
  const body = { ...bodyOf(view), metadata_only: true }
  return (await requestJson<{ objs: ObjectVersion[] }>('/objs/query', { body, signal })).objs
}

/** One version; `version` is a digest, `latest`, `v` and its number, or an alias. */
export async function readObject(
  project: string,
  object: string,
  version: string,
  signal: AbortSignal,
): Promise<ObjectRead> {
  const body = { project_id: project, object_id: object, digest: version, include_tags_and_aliases: true }
  const text = await (await request('/obj/read', { body, signal })).text()
  const record = nodeAt(jsonNode(text), 'obj') as JsonNode
  return { ...lightOf(record), val: nodeAt(record, 'val') as JsonNode }
}

/** The members other than the value contain no number that could lose digits. */
function lightOf(record: JsonNode): ObjectVersion {
  const val = nodeAt(record, 'val')
  const text = sourceOf(record)
  if (val === undefined) return JSON.parse(text) as ObjectVersion
  const [from, to] = [val.start - record.start, val.end - record.start]
  return JSON.parse(`${text.slice(0, from)}null${text.slice(to)}`) as ObjectVersion
}

export interface Created {
  object_id: string
  digest: string
}

/** Stores a value, given as JSON, under a name. */
export function createObject(
  project: string,
  object: string,
  val: string,
  more: { builtin_object_class?: 'AnnotationSpec'; expected_latest?: string } = {},
): Promise<Created> {
  const rest = { project_id: project, object_id: object, ...more }
  const json = `{"obj":${JSON.stringify(rest).slice(0, -1)},"val":${val}}}`
  return requestJson<Created>('/obj/create', { json })
}

export async function deleteObject(
  project: string,
  object: string,
  versions?: readonly string[],
): Promise<number> {
  const body = { project_id: project, object_id: object, ...(versions && { digests: versions }) }
  return (await requestJson<{ num_deleted: number }>('/obj/delete', { body })).num_deleted
}

export const refOfCreated = (project: string, { object_id, digest }: Created): string =>
  objectRefOf(project, object_id, digest)

/** An annotation spec, from which a field of a review is made. */
export interface Spec {
  /** Id of the object, which is the name of the feedback. */
  id: string
  ref: string
  title: string
  description: string
  schema: unknown
}

export function specOf(project: string, { val, ...version }: ObjectRead): Spec {
  const schema = nodeAt(val, 'field_schema')
  return {
    id: version.object_id,
    ref: refOfCreated(project, version),
    title: stringOf(nodeAt(val, 'name')) ?? version.object_id,
    description: stringOf(nodeAt(val, 'description')) ?? '',
    schema: schema === undefined ? {} : (JSON.parse(sourceOf(schema)) as unknown),
  }
}

/** The newest version of each. */
export async function readSpecs(project: string, signal: AbortSignal): Promise<Spec[]> {
  const view = { project, classes: ['AnnotationSpec'], latestOnly: true, limit: 200 }
  const text = await (await request('/objs/query', { body: bodyOf(view), signal })).text()
  const objs = JSON.parse(text) as { objs: (ObjectVersion & { val: Record<string, unknown> })[] }
  return objs.objs.map((version) => ({
    id: version.object_id,
    ref: refOfCreated(project, version),
    title: typeof version.val.name === 'string' ? version.val.name : version.object_id,
    description: typeof version.val.description === 'string' ? version.val.description : '',
    schema: version.val.field_schema ?? {},
  }))
}
