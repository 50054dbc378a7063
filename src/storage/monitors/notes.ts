import { unjudgedOps } from '../../domain/judge-op.ts'
import { isSampled } from '../../domain/sampling.ts'
import type { CallPart } from '../calls/parts.ts'
import { insertInto } from '../sql/inserts.ts'
import { listOf, type SqlValue, sql } from '../sql/sql.ts'
import type { Transaction } from '../transaction.ts'
import type { Monitor, MonitorScorer } from './monitors.ts'

const columns = [
  ...['project_id', 'monitor_id', 'call_id', 'scorer', 'kind', 'run_id', 'state', 'noted_at'],
  ...['due_at', 'attempts', 'tokens'],
]

const key = '(project_id, monitor_id, call_id, scorer)'

const insertNew = insertInto('judgements', columns, `ON CONFLICT ${key} DO NOTHING`)

/** Calls that were judged before are noted again, and are judged again if their scorer has changed. */
const insertAgain = insertInto(
  'judgements',
  columns,
  `ON CONFLICT ${key} DO UPDATE SET kind = excluded.kind, run_id = excluded.run_id, state = excluded.state,
   noted_at = excluded.noted_at, due_at = excluded.due_at, attempts = 0, reason = NULL, detail = NULL, ended_at = NULL,
   taken_by = NULL, taken_until = NULL WHERE judgements.state <> 'pending'`,
)

/** Called after calls of one project were written: makes the judgements of those that ended pending. */
export async function noteJudgements(
  tx: Transaction,
  project: string,
  callParts: readonly CallPart[],
  now: number,
): Promise<void> {
  const ended = callParts.filter(
    ({ start, end }) => end !== undefined && !unjudgedOps.includes(start?.op_name ?? ''),
  )
  if (ended.length === 0) return
  const monitors = await tx.all<Pick<Monitor, 'id' | 'scorers' | 'sampling_rate'>>(
    sql`SELECT id, scorers, sampling_rate FROM monitors WHERE project_id = ${project} AND active = 1`,
  )
  for (const monitor of monitors) {
    const calls = ended.map(({ id }) => id).filter((id) => isSampled(monitor.id, id, monitor.sampling_rate))
    await insert(tx, insertNew, project, monitor, calls, '', now)
  }
}

/** The same for calls found by a run over old calls. */
export async function noteOldCalls(
  tx: Transaction,
  monitor: Pick<Monitor, 'project_id' | 'id' | 'scorers'>,
  run: string,
  calls: readonly string[],
  now: number,
): Promise<void> {
  await insert(tx, insertAgain, monitor.project_id, monitor, calls, run, now)
}

async function insert(
  tx: Transaction,
  statement: typeof insertNew,
  project: string,
  monitor: Pick<Monitor, 'id' | 'scorers'>,
  calls: readonly string[],
  run: string,
  now: number,
): Promise<void> {
  const scorers = JSON.parse(monitor.scorers) as MonitorScorer[]
  const rows = calls.flatMap((call) =>
    scorers.map(({ name, kind }): SqlValue[] => {
      const judgement = [project, monitor.id, call, name, kind, run]
      return [...judgement, 'pending', now, now, 0, 0]
    }),
  )
  for (const insertion of statement(rows)) await tx.run(insertion)
}

/** Called when calls of a project are removed for good. */
export async function deleteJudgements(
  tx: Transaction,
  project: string,
  calls: readonly string[],
): Promise<void> {
  const monitors = await tx.all<{ id: string }>(
    sql`SELECT id FROM monitors WHERE project_id = ${project} AND deleted_at IS NULL`,
  )
  for (const { id } of monitors) {
    await tx.run(
      sql`DELETE FROM judgements WHERE project_id = ${project} AND monitor_id = ${id} AND call_id IN (${listOf(calls)})`,
    )
  }
}
