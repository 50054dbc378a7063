import { type Caller, requireAccess } from '../../domain/callers.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { wrong } from '../../domain/refusals.ts'
import { formatTime } from '../../domain/time.ts'
import { viewOf } from '../../domain/view.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { type Labels, readLabels } from '../../storage/objects/object-labels.ts'
import { streamObjects } from '../../storage/objects/object-queries.ts'
import {
  type ObjectVersion,
  type ObjectWithValue,
  readObject,
  readVersion,
  type VersionName,
} from '../../storage/objects/objects.ts'
import type { Reader } from '../../storage/transaction.ts'
import { mayReadObject } from '../queues/annotator-view.ts'
import type { QueryBody, ReadBody, RefsBody } from './contract.ts'
import { objectDeleted, objectNotFound, resolveRefs } from './resolve.ts'

export async function readOneObject(db: Reader, caller: Caller, body: ReadBody) {
  const { project_id, object_id, digest } = body
  requireAccess(caller, project_id)
  const name = { name: object_id, digest }
  if (!(await mayReadObject(db, caller, project_id, object_id)))
    throw objectNotFound('digest', project_id, name)
  // A value may be large, and reading it would delay others.
  const found = body.metadata_only
    ? { ...live(await readVersion(db, project_id, name), project_id, name, 'digest'), val: null }
    : await liveObject(db, project_id, name, 'digest')
  const labels = body.include_tags_and_aliases ? await readLabels(db, project_id, [found]) : []
  return { obj: objectRecord(found, found.val, labels[0]) }
}

/** A version that exists; refuses one that never did or was deleted. */
export async function liveObject(
  db: Reader,
  project: string,
  name: VersionName,
  field: string,
): Promise<ObjectWithValue & { val: string }> {
  const found = live(await readObject(db, project, name), project, name, field)
  return { ...found, val: found.val as string }
}

function live<Version extends ObjectVersion>(
  found: Version | undefined,
  project: string,
  name: VersionName,
  field: string,
): Version {
  if (found === undefined) throw objectNotFound(field, project, name)
  if (found.deleted_at !== null) throw objectDeleted(field, project, name, found.deleted_at)
  return found
}

const emptyObject = new JsonText('{}')

/** The object record of the API. Without a value, `val` is `{}`. */
export function objectRecord(
  version: ObjectVersion,
  val: string | null,
  labels: Labels | undefined,
): Record<string, unknown> {
  return {
    project_id: version.project_id,
    object_id: version.object_id,
    digest: version.digest,
    version_index: version.version_index,
    is_latest: version.is_latest,
    kind: version.kind,
    base_object_class: version.base_object_class,
    leaf_object_class: version.leaf_object_class,
    val: val === null ? emptyObject : new JsonText(val),
    created_at: formatTime(version.created_at),
    deleted_at: null,
    svc_user_id: version.user_id,
    wb_user_id: version.user_id,
    size_bytes: version.size,
    tags: labels?.tags ?? null,
    aliases: labels?.aliases ?? null,
  }
}

const maxRefs = 1000

/** One JSON text for each reference. */
export async function* readRefs(db: Reader, caller: Caller, { refs }: RefsBody): AsyncGenerator<string> {
  if (refs.length > maxRefs) {
    throw wrong('refs', `${refs.length} entries`, `at most ${maxRefs}`)
  }
  for (const { text } of await resolveRefs(db, caller, refs)) yield text
}

/** One JSON text for each version. */
export async function* queryObjects(
  db: BoundDatabase,
  caller: Caller,
  body: QueryBody,
): AsyncGenerator<string> {
  const { project_id } = body
  requireAccess(caller, project_id)
  const view = { ...viewOf(body), filter: body.filter ?? {}, values: !body.metadata_only }
  for await (const rows of streamObjects(db, view)) {
    const labels =
      body.include_tags_and_aliases && rows.length > 0 ? await readLabels(db, project_id, rows) : []
    for (const [index, row] of rows.entries()) yield writeJson(objectRecord(row, row.val, labels[index]))
  }
}
