import { endFactNames, endFacts, startFactNames, startFacts } from '../../domain/call-facts/facts.ts'
import { membershipLock } from '../evaluations/pending.ts'
import { join, rawSql, sql } from '../sql/sql.ts'
import type { Command, Reader, Transaction } from '../transaction.ts'

const payload = ['attributes', 'inputs', 'output', 'summary', 'exception']

/** Clears inputs, output and the previews made from them. */
export const withoutPayload = rawSql(
  [...payload, ...startFactNames, ...endFactNames].map((column) => `${column} = NULL`).join(', '),
)

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
  for (const call of calls) await keepFacts(tx, project, call)
  const last = calls.at(-1)
  if (last !== undefined) await move(tx, project, last.id)
  else {
    const next = await tx.get<{ project_id: string | null }>(
      sql`SELECT min(project_id) AS project_id FROM calls WHERE project_id > ${project}`,
    )
    if (next?.project_id == null) {
      await tx.run(sql`DELETE FROM facts_backfill`)
      return false
    }
    await move(tx, next.project_id, '')
  }
  return true
}

async function move(tx: Transaction, project: string, call: string): Promise<void> {
  await tx.run(sql`UPDATE facts_backfill SET at_project = ${project}, at_call = ${call}`)
}

interface StoredCall {
  id: string
  op_name: string | null
  started_at: number | null
  ended_at: number | null
  exception: string | null
  inputs: string | null
  output: string | null
  summary: string | null
}

/** In id order, without calls that were swept. */
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
    sql`SELECT id, op_name, started_at, ended_at, exception, inputs, output, summary FROM calls
        WHERE project_id = ${project} AND id > ${after} AND id <= ${last.id} ORDER BY id`,
  )
}

async function keepFacts(tx: Transaction, project: string, call: StoredCall): Promise<void> {
  const values: [string, string | number | null][] = []
  const { id, op_name, inputs, ended_at, exception, output, summary } = call
  if (op_name !== null && inputs !== null) {
    const facts = whereReadable(() => startFacts({ op_name, inputs }))
    for (const column of startFactNames) values.push([column, facts?.[column] ?? null])
  }
  if (ended_at !== null && summary !== null) {
    const facts = whereReadable(() => endFacts({ exception, output, summary }))
    for (const column of endFactNames) values.push([column, facts?.[column] ?? null])
  }
  if (values.length === 0) return
  const set = values.map(([column, value]) => sql`${rawSql(column)} = ${value}`)
  await tx.run(sql`UPDATE calls SET ${join(set, ', ')} WHERE project_id = ${project} AND id = ${id}`)
}

/** JSON damaged on disk has no facts; reading the call reports the damage. */
function whereReadable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
