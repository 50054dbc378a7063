import { membershipLock } from '../evaluations/pending.ts'
import { projectAfter } from '../projects/turns.ts'
import { sql } from '../sql/sql.ts'
import type { Command, Reader, Transaction } from '../transaction.ts'
import { type StoredCall, storedColumns, storeFacts } from './facts.ts'

interface Position {
  at_project: string
  at_call: string
}

/** How far the facts of calls written by an older version have been backfilled; undefined when all have. */
export function backfillPosition(db: Reader): Promise<Position | undefined> {
  return db.get<Position>(sql`SELECT at_project, at_call FROM facts_backfill`)
}

interface BackfillStep {
  /** The most calls of a step, and the most characters of their JSON. */
  limit: number
  characters: number
}

/** Derives the facts of some calls that were stored before facts existed. Returns whether more are left. */
export const backfillFacts: Command<BackfillStep, boolean> = async (tx, { limit, characters }) => {
  await tx.lock('facts of calls')
  const from = await backfillPosition(tx)
  if (from === undefined) return false
  const { at_project: project, at_call } = from
  // Shared with everything that writes parts of calls: nothing may change between the read and the write here.
  await tx.lock(membershipLock(project))
  const calls = await nextCalls(tx, project, at_call, limit, characters)
  for (const call of calls) await storeFacts(tx, project, call)
  const last = calls.at(-1)
  if (last !== undefined) await move(tx, project, last.id)
  else {
    const next = await projectAfter(tx, 'calls', project)
    if (next === undefined) {
      await tx.run(sql`DELETE FROM facts_backfill`)
      return false
    }
    await move(tx, next, '')
  }
  return true
}

async function move(tx: Transaction, project: string, call: string): Promise<void> {
  await tx.run(sql`UPDATE facts_backfill SET at_project = ${project}, at_call = ${call}`)
}

/** In id order. */
async function nextCalls(
  tx: Transaction,
  project: string,
  after: string,
  limit: number,
  characters: number,
): Promise<StoredCall[]> {
  const sizes = await tx.all<{ id: string; size: number }>(
    sql`SELECT id, start_bytes + end_bytes AS size FROM calls WHERE project_id = ${project} AND id > ${after}
        ORDER BY id LIMIT ${limit}`,
  )
  let sum = 0
  const fitting = sizes.filter(({ size }, index) => {
    const fits = index === 0 || sum + size <= characters
    sum += size
    return fits
  })
  const last = fitting.at(-1)
  if (last === undefined) return []
  return tx.all<StoredCall>(
    sql`SELECT ${storedColumns} FROM calls WHERE project_id = ${project} AND id > ${after} AND id <= ${last.id} ORDER BY id`,
  )
}
