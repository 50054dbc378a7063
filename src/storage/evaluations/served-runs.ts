import { refuse } from '../../domain/refusals.ts'
import { isLive } from '../calls/calls.ts'
import type { CallPart, CallStart } from '../calls/parts.ts'
import { deleteCalls, reopenCall, upsertCalls } from '../calls/writes.ts'
import { emptySql, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { type RowIn, tableOf } from '../sql/table.ts'
import { type Command, countOf, type Reader, type Transaction } from '../transaction.ts'
import { requireMarked } from './marked-calls.ts'
import { lockOfRun } from './runs.ts'

const servedRuns = tableOf('served_runs', {
  project_id: 'text',
  run_id: 'text',
  runs_as: 'text',
  plan: 'text',
  trials: 'number',
  position: 'number',
  stopped: 'number',
  held_by: 'text?',
  held_until: 'time',
  turn_at: 'time',
})

/** An evaluation run that the server carries out, as far as it is. */
export type ServedRun = RowIn<typeof servedRuns>

interface ServedRunKey {
  project_id: string
  run_id: string
}

const lockOfAll = 'served runs'

/** Of a project, so that no user fills the record with plans. */
const maxServedRuns = 100

const oneOf = ({ project_id, run_id }: ServedRunKey): Sql =>
  sql`project_id = ${project_id} AND run_id = ${run_id}`

export const readServedRun = (db: Reader, key: ServedRunKey): Promise<ServedRun | undefined> =>
  servedRuns.get(db, oneOf(key))

interface NewServedRuns {
  /** The root calls of the runs, in the same order. */
  calls: readonly (CallPart & { start: CallStart })[]
  runs: readonly ServedRun[]
}

/** The runs begin together with what is left to do for them. */
export const addServedRuns: Command<NewServedRuns, void> = async (tx, { calls, runs }) => {
  await tx.lock(lockOfAll)
  await requireRoom(tx, runs[0]?.project_id ?? '', runs.length)
  await upsertCalls(tx, [...calls])
  for (const run of runs) {
    await servedRuns.insert(tx, [run])
  }
}

async function requireRoom(tx: Transaction, project: string, added: number): Promise<void> {
  if ((await countOf(tx, sql`served_runs WHERE project_id = ${project}`)) + added > maxServedRuns) {
    throw refuse('too_many_served_runs', { limit: maxServedRuns, project })
  }
}

interface Turn {
  holder: string
  now: number
  until: number
  /** Whether the process can ask models; otherwise it takes only what no model is needed for. */
  hasModels?: boolean
  /** Users whose runs have as many turns in the process as they may. */
  except?: readonly string[]
}

/** A plan without a table to ask about, whose scorers are all checks. In texts of users quotes are escaped. */
const needsNoModel = ({ dialect }: Transaction): Sql => {
  const has = (text: string) => sql`${dialect.position(rawSql('plan'), rawSql(`'${text}'`))} > 0`
  return sql`NOT (${has('"table":"')} OR ${has('"kind":"judge"')})`
}

/**
 * Of the user who waits longest, the run that waits longest and that no other process works on; this process then
 * holds it.
 */
export const takeServedRun: Command<Turn, ServedRun | undefined> = async (
  tx,
  { holder, now, until, hasModels = true, except = [] },
) => {
  await tx.lock(lockOfAll)
  const answerable = hasModels ? emptySql : sql` AND ${needsNoModel(tx)}`
  const others = except.length === 0 ? emptySql : sql` AND runs_as NOT IN (${listOf(except)})`
  const run = await servedRuns.get(
    tx,
    sql`held_until <= ${now}${answerable}${others} ORDER BY
      (SELECT max(turn_at) FROM served_runs AS own WHERE own.runs_as = served_runs.runs_as), turn_at, run_id LIMIT 1`,
  )
  if (run === undefined) return undefined
  await tx.run(
    sql`UPDATE served_runs SET held_by = ${holder}, held_until = ${until}, turn_at = ${now} WHERE ${oneOf(run)}`,
  )
  return { ...run, held_by: holder }
}

/**
 * The process that holds the run goes on until then; 0 gives it back. `position` is how far the run is, and `plan` what
 * is left of it.
 */
export const holdServedRun: Command<
  ServedRunKey & { holder: string; until: number; position?: number; plan?: string | undefined },
  void
> = async (tx, { holder, until, position, plan, ...key }) => {
  await tx.lock(lockOfAll)
  const reached = position === undefined ? rawSql('position') : sql`${position}`
  const left = plan === undefined ? rawSql('plan') : sql`${plan}`
  await tx.run(
    sql`UPDATE served_runs SET held_until = ${until}, position = ${reached}, plan = ${left}
      WHERE ${oneOf(key)} AND held_by = ${holder}`,
  )
}

/** No further trial begins. A run that is over is left as it is. */
export const stopServedRun: Command<ServedRunKey, void> = async (tx, key) => {
  await tx.lock(lockOfAll)
  await tx.run(sql`UPDATE served_runs SET stopped = 1 WHERE ${oneOf(key)}`)
}

/** What ended it has to hold it: a run that was resumed meanwhile goes on. */
export const dropServedRun: Command<ServedRunKey & { holder: string | null }, void> = async (
  tx,
  { holder, ...key },
) => {
  await tx.lock(lockOfAll)
  await tx.run(sql`DELETE FROM served_runs WHERE ${oneOf(key)} AND held_by = ${holder}`)
}

interface Resumption {
  run: ServedRun
  /** The attributes of the root from now on. */
  attributes: string
  /** When the run that is resumed had ended. */
  ended_at: number
  now: number
}

/**
 * The run goes on as if it had not ended: its root is open, and its summary is gone. Happens once: whoever asks at the
 * same time finds it running.
 */
export const resumeServedRun: Command<Resumption, void> = async (tx, { run, attributes, ended_at, now }) => {
  const { project_id, run_id } = run
  await tx.lock(lockOfAll)
  await tx.lock(lockOfRun(project_id, run_id))
  const root = await requireMarked(tx, 'run', project_id, run_id, 'evaluation_run_id', now)
  if (root.ended_at !== ended_at) return
  await requireRoom(tx, project_id, 1)
  const summaries = await tx.all<{ id: string }>(
    sql`SELECT id FROM calls WHERE project_id = ${project_id} AND parent_id = ${run_id}
      AND op_name = 'Evaluation.summarize' AND ${isLive(now)}`,
  )
  await deleteCalls(tx, { project_id, ids: summaries.map(({ id }) => id), now })
  await reopenCall(tx, { project_id, id: run_id, attributes })
  await tx.run(sql`DELETE FROM served_runs WHERE ${oneOf(run)}`)
  await servedRuns.insert(tx, [run])
}
