import { byCaller, type Caller, requireAccess } from '../../domain/callers.ts'
import { wrong } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import type { VersionsOf } from '../../storage/objects/objects.ts'
import type { DeleteBody } from './contract.ts'
import { labelGated } from './labels.ts'
import { objectNotFound } from './resolve.ts'

const maxVersions = 100

/** Which kind of versions may be deleted, and the fields in which the object and its versions were given. */
interface Asked {
  only: VersionsOf | null
  object: string
  versions: string
}

/** Deletes all of the named versions, or none if one of them does not exist. */
export async function deleteObject(
  db: Database,
  caller: Caller,
  body: DeleteBody,
  asked: Asked = { only: null, object: 'object_id', versions: 'digests' },
) {
  const { project_id, object_id, digests } = body
  requireAccess(caller, project_id)
  if (digests && digests.length > maxVersions) {
    throw wrong(asked.versions, `${digests.length} entries`, `at most ${maxVersions}`)
  }
  const answer = await db.write('deleteObjects', {
    project_id,
    object_id,
    only: asked.only,
    versions: digests ?? null,
    now: now(),
    by: byCaller(caller),
  })
  if ('deleted' in answer) return { num_deleted: answer.deleted }
  if ('gated' in answer) throw labelGated(asked.versions, object_id, answer.gated)
  throw digests
    ? objectNotFound(asked.versions, project_id, { name: object_id, digest: answer.missing })
    : objectNotFound(asked.object, project_id, { name: object_id, digest: 'latest' })
}
