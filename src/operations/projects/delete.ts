import { refuse } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import { emptyStore, storeOfProject } from '../../storage/cold/cleaning.ts'
import type { Database } from '../../storage/database.ts'
import type { Counts } from '../../storage/projects/deletion.ts'
import type { Actor } from '../../storage/users/audit.ts'

const untilTheEnd = new AbortController().signal

/**
 * Deletes everything of a project, in steps so small that other writes hardly wait, and returns how much there was.
 * When the signal aborts or the process ends, the sweep of a server continues. What is written to the project meanwhile
 * may be deleted as well.
 */
export async function deleteProject(
  db: Database,
  project: string,
  by: Actor,
  signal?: AbortSignal,
): Promise<Counts> {
  const cold = await storeOfProject(db, project)
  const begun = await db.write('beginProjectDeletion', { project_id: project, now: now(), by })
  if (!begun) throw refuse('project_not_found', { project })
  let deleted: Counts = {}
  for (;;) {
    const step = await db.write('deleteSomeOfProject', { project_id: project, now: now() })
    if (step === undefined) return deleted
    deleted = step.deleted
    if (step.isDone) return deleted
    signal?.throwIfAborted()
    if (!step.isInStore) continue
    const store = cold ?? (await storeOfProject(db, project))
    if (store !== undefined) await emptyStore(store, project, signal ?? untilTheEnd)
  }
}
