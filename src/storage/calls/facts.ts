import { endFactNames, endFacts, startFactNames, startFacts } from '../../domain/call-facts/facts.ts'
import { membership } from '../evaluations/pending.ts'
import { join, sql, trusted } from '../sql/sql.ts'
import type { Command, Reader, Transaction } from '../transaction.ts'

const payload = ['attributes', 'inputs', 'output', 'summary', 'exception']

/** Takes away what was asked and answered; previews are a part of it. */
export const withoutPayload = trusted(
  [...payload, ...startFactNames, ...endFactNames].map((column) => `${column} = NULL`).join(', '),
)

interface Position {
  at_project: string
  at_call: string
}

/** How far calls that were written by an older version have been read for their facts; undefined when all have. */
export function backfillPosition(db: Reader): Promise<Position | undefined> {
  return db.get<Position>(sql`SELECT at_project, at_call FROM facts_backfill`)
}

interface BackfillStep {
  /** Calls, and the characters of what they carry. */
  limit: number
  characters: number
}

/** Reads the facts of some calls that were there before there were any. Answers whether there is more to do. */
export const backfillFacts: Command<BackfillStep, boolean> = async (tx, { limit, characters }) => {
  await tx.turn('facts of calls')
  const from = await backfillPosition(tx)
  if (from === undefined) return false
  const { at_project: project, at_call } = from
  // Whoever writes parts of calls shares this: between what is read here and what is written nothing changes.
  await tx.turn(membership(project))
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

/** In the order of their ids, and none of those that were emptied. */
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
  const set = values.map(([column, value]) => sql`${trusted(column)} = ${value}`)
  await tx.run(sql`UPDATE calls SET ${join(set, ', ')} WHERE project_id = ${project} AND id = ${id}`)
}

/** A text that a disk has changed has no facts; whoever reads the call is told so. */
function whereReadable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
