import { type Caller, reach } from '../../domain/callers.ts'
import { readLabels } from '../../storage/object-labels.ts'
import { type ObjectWithValue, readObject } from '../../storage/objects.ts'
import type { Reader } from '../../storage/transaction.ts'
import type { ReadBody } from './contract.ts'
import { objectRecord } from './record.ts'
import { objectDeleted, objectNotFound } from './resolve.ts'

export async function readOneObject(db: Reader, caller: Caller, body: ReadBody) {
  const { project_id, object_id, digest } = body
  reach(caller, project_id)
  const found = await liveObject(db, project_id, object_id, digest, 'digest')
  const labels = body.include_tags_and_aliases ? await readLabels(db, project_id, [found]) : []
  return { obj: objectRecord(found, body.metadata_only ? null : found.val, labels[0]) }
}

/** A version that is there; refuses what never was or is deleted. */
export async function liveObject(
  db: Reader,
  project: string,
  name: string,
  digest: string,
  field: string,
): Promise<ObjectWithValue & { val: string }> {
  const found = await readObject(db, project, { name, digest })
  if (found === undefined) throw objectNotFound(field, project, { name, digest })
  const { val } = found
  if (val === null) throw objectDeleted(field, project, { name, digest }, found.deleted_at ?? 0)
  return { ...found, val }
}
