import { type Caller, requireAccess } from '../../domain/callers.ts'
import { refuse } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import type { DeleteBody } from './contract.ts'

const mostIds = 1000

/** Counts the ids that were named, also unknown ones, and the descendants that went with them. */
export async function deleteSomeCalls(db: Database, caller: Caller, { project_id, call_ids }: DeleteBody) {
  requireAccess(caller, project_id)
  if (call_ids.length > mostIds)
    throw refuse('too_many_ids', { field: 'call_ids', given: call_ids.length, limit: mostIds })
  const ids = [...new Set(call_ids)]
  const { descendants } = await db.write('deleteCalls', { project_id, ids, now: now() })
  return { num_deleted: ids.length + descendants }
}
