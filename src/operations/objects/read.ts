import { type Caller, requireAccess } from '../../domain/callers.ts'
import { readLabels } from '../../storage/tables/object-labels.ts'
import {
  type ObjectVersion,
  type ObjectWithValue,
  readObject,
  readVersion,
  type VersionName,
} from '../../storage/tables/objects.ts'
import type { Reader } from '../../storage/transaction.ts'
import type { ReadBody } from './contract.ts'
import { objectRecord } from './record.ts'
import { objectDeleted, objectNotFound } from './resolve.ts'

export async function readOneObject(db: Reader, caller: Caller, body: ReadBody) {
  const { project_id, object_id, digest } = body
  requireAccess(caller, project_id)
  const name = { name: object_id, digest }
  // A value may be large, and to read it holds up everyone else.
  const found = body.metadata_only
    ? { ...live(await readVersion(db, project_id, name), project_id, name, 'digest'), val: null }
    : await liveObject(db, project_id, name, 'digest')
  const labels = body.include_tags_and_aliases ? await readLabels(db, project_id, [found]) : []
  return { obj: objectRecord(found, found.val, labels[0]) }
}

/** A version that is there; refuses what never was or is deleted. */
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
