import { type Caller, reach } from '../../domain/callers.ts'
import { refuse } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import type { DeleteBody } from './contract.ts'
import { objectNotFound } from './resolve.ts'

const mostVersions = 100

/** All of the named versions, or none when one of them is not there. */
export async function deleteObject(db: Database, caller: Caller, body: DeleteBody) {
  const { project_id, object_id, digests } = body
  reach(caller, project_id)
  if (digests && digests.length > mostVersions) {
    throw refuse('invalid_value', {
      field: 'digests',
      given: `${digests.length} entries`,
      accepted: `at most ${mostVersions}`,
    })
  }
  const answer = await db.write('deleteObjects', {
    project_id,
    object_id,
    versions: digests ?? null,
    now: now(),
  })
  if ('deleted' in answer) return { num_deleted: answer.deleted }
  throw digests
    ? objectNotFound('digests', project_id, { name: object_id, digest: answer.missing })
    : objectNotFound('object_id', project_id, { name: object_id, digest: 'latest' })
}
