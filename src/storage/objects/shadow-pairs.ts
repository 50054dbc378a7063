import type { CallPart } from '../calls/parts.ts'
import { upsertCalls } from '../calls/writes.ts'
import { readProjectSettings } from '../projects/projects.ts'
import { sql } from '../sql/sql.ts'
import { type Command, countOf, type Reader, type Transaction } from '../transaction.ts'
import { findShadow, type ShadowKey, shadowLock } from './label-shadows.ts'

/** Pairs of a project that wait. Further calls are counted, and not asked. */
const maxWaiting = 100

/** What an answer brings if its label has a shadow, and the call was drawn. */
export interface CallToShadow {
  shadow_id: string
  /** What the client asked, as JSON; or why the other version cannot be asked that. */
  request: string | null
  reason: string | null
}

/** Notes pairs for answers that were just written. Each call is noted once, however often it is written. */
export async function noteShadowPairs(
  tx: Transaction,
  answers: readonly { call: CallPart; shadow?: CallToShadow }[],
  now: number,
): Promise<void> {
  for (const { call, shadow } of answers) {
    if (shadow === undefined) continue
    const key = { project_id: call.project_id, shadow_id: shadow.shadow_id }
    const found = await findShadow(tx, key)
    if (found === undefined || found.ended_at !== null) continue
    const reason = shadow.reason ?? (await whyNot(tx, call))
    const request = reason === null ? shadow.request : null
    const ended = reason === null ? null : now
    await tx.run(
      sql`INSERT INTO shadow_pairs (project_id, shadow_id, call_id, state, reason, request, noted_at, due_at, attempts, held_until, ended_at)
          VALUES (${key.project_id}, ${key.shadow_id}, ${call.id}, ${reason === null ? 'waiting' : 'skipped'}, ${reason},
            ${request}, ${now}, ${now}, 0, 0, ${ended})
          ON CONFLICT (project_id, shadow_id, call_id) DO NOTHING`,
    )
  }
}

async function whyNot(tx: Transaction, { project_id, end }: CallPart): Promise<string | null> {
  if (end?.exception != null) return 'call_failed'
  // The request would be stored with its private texts, or asked without them.
  if ((await readProjectSettings(tx, project_id)).redaction !== undefined) return 'project_redacts'
  const waiting = sql`SELECT 1 AS one FROM shadow_pairs WHERE project_id = ${project_id} AND state = 'waiting'`
  const count = await countOf(tx, sql`(${waiting} LIMIT ${maxWaiting}) AS waiting`)
  return count < maxWaiting ? null : 'queue_full'
}

/** Shadows of any project with pairs that could be asked now. */
export const shadowsAtWork = (db: Reader, now: number): Promise<ShadowKey[]> =>
  db.all<ShadowKey>(
    sql`SELECT DISTINCT project_id, shadow_id FROM shadow_pairs
        WHERE state = 'waiting' AND due_at <= ${now} AND held_until <= ${now} ORDER BY project_id, shadow_id LIMIT 1000`,
  )

export interface TakenPair {
  call_id: string
  request: string
  attempts: number
}

interface Holding extends ShadowKey {
  /** The process that asks. */
  holder: string
  until: number
}

/** Takes pairs that no process has, or whose holder has not renewed them in time; oldest first. */
export const takeShadowPairs: Command<Holding & { limit: number; now: number }, TakenPair[]> = async (
  tx,
  { project_id, shadow_id, holder, until, limit, now },
) => {
  await tx.lock(shadowLock({ project_id, shadow_id }))
  const of = sql`project_id = ${project_id} AND shadow_id = ${shadow_id}`
  const taken = await tx.all<TakenPair>(
    sql`SELECT call_id, request, attempts FROM shadow_pairs
        WHERE ${of} AND state = 'waiting' AND due_at <= ${now} AND held_until <= ${now} ORDER BY due_at, call_id LIMIT ${limit}`,
  )
  for (const { call_id } of taken)
    await tx.run(
      sql`UPDATE shadow_pairs SET held_by = ${holder}, held_until = ${until} WHERE ${of} AND call_id = ${call_id}`,
    )
  return taken
}

/** All pairs of the shadow that this process holds. */
export const holdShadowPairs: Command<Holding, void> = async (
  tx,
  { project_id, shadow_id, holder, until },
) => {
  await tx.lock(shadowLock({ project_id, shadow_id }))
  await tx.run(
    sql`UPDATE shadow_pairs SET held_until = ${until} WHERE project_id = ${project_id} AND shadow_id = ${shadow_id}
          AND state = 'waiting' AND held_by = ${holder}`,
  )
}

/** What one side took; null where it is not known. */
export interface SideOfPair {
  latency_ms: number | null
  tokens: number | null
  cost: number | null
}

export type PairOutcome =
  | { state: 'judged'; difference: number; own: SideOfPair; shadow: SideOfPair }
  | { state: 'skipped' | 'failed'; reason: string; detail: string }
  | { state: 'waiting'; due_at: number; wasTried: boolean }

interface SettledPair extends ShadowKey {
  call_id: string
  holder: string
  outcome: PairOutcome
  /** The answer of the shadow, and the calls of judges. */
  calls: readonly CallPart[]
  now: number
}

/** Writes the outcome with its calls, and only for the process that holds the pair: it is counted once. */
export const settleShadowPair: Command<SettledPair, void> = async (tx, settled) => {
  const { project_id, shadow_id, call_id, holder, outcome, calls, now } = settled
  await tx.lock(shadowLock({ project_id, shadow_id }))
  const isOurs = sql`project_id = ${project_id} AND shadow_id = ${shadow_id} AND call_id = ${call_id}
    AND state = 'waiting' AND held_by = ${holder}`
  if ((await tx.get(sql`SELECT 1 AS one FROM shadow_pairs WHERE ${isOurs}`)) === undefined) return
  if (outcome.state === 'waiting') {
    await tx.run(
      sql`UPDATE shadow_pairs SET due_at = ${outcome.due_at}, attempts = attempts + ${outcome.wasTried ? 1 : 0},
            held_by = NULL, held_until = 0 WHERE ${isOurs}`,
    )
    return
  }
  await upsertCalls(tx, calls)
  const end = sql`request = NULL, held_by = NULL, held_until = 0, ended_at = ${now}, shadow_call_id = ${calls[0]?.id ?? null}`
  if (outcome.state === 'judged') {
    const { own, shadow, difference } = outcome
    await tx.run(
      sql`UPDATE shadow_pairs SET state = 'judged', difference = ${difference}, ${end},
            latency_ms = ${own.latency_ms}, tokens = ${own.tokens}, cost = ${own.cost},
            shadow_latency_ms = ${shadow.latency_ms}, shadow_tokens = ${shadow.tokens}, shadow_cost = ${shadow.cost}
          WHERE ${isOurs}`,
    )
  } else {
    const { state, reason, detail } = outcome
    await tx.run(
      sql`UPDATE shadow_pairs SET state = ${state}, reason = ${reason}, detail = ${detail}, ${end} WHERE ${isOurs}`,
    )
  }
}
