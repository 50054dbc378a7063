import { batchesOf } from '../../domain/batches.ts'
import type { EvaluationCall } from '../../domain/evaluations/evaluation-call.ts'
import { briefOf, exampleKinds } from '../../domain/evaluations/example.ts'
import { shapeOf, slotCount, slotNames } from '../../domain/evaluations/shape.ts'
import { type Trial, trialOf } from '../../domain/evaluations/trial.ts'
import { isTrialOp } from '../../domain/evaluations/trial-ops.ts'
import { isLive } from '../calls/calls.ts'
import { derivation, nextDerivation } from '../calls/facts.ts'
import { insertInto } from '../sql/inserts.ts'
import { listOf, rawSql, type SqlValue, sql, wantedIds } from '../sql/sql.ts'
import type { Reader, Transaction } from '../transaction.ts'
import { type RowUse, updateRowSets } from './row-sets.ts'
import { createShapes } from './shapes.ts'

/** Trials in memory at a time, with the calls below them. */
const trialsAtOnce = 64
/** Children of one trial; no harness makes as many, and a request must not read without end. */
const maxChildren = 1000

export const derivationLock = (project: string) => `the results of ${project}`

/** Updates the rows of these trials from their calls. */
export async function deriveTrials(
  tx: Transaction,
  project: string,
  trialIds: Iterable<string>,
  now: number,
): Promise<void> {
  const ids = [...new Set(trialIds)].sort()
  if (ids.length === 0) return
  await tx.lock(derivationLock(project))
  for (const some of batchesOf(ids, trialsAtOnce)) await deriveSome(tx, project, some, now)
}

/** Derived from the calls of a trial alone. */
export const trialColumns = [
  ...(['project_id', 'trial_id', 'evaluation_id', 'row_digest', 'row_kind', 'brief'] as const),
  ...(['started_at', 'stale_at', 'output_key', 'failed', 'predict_call_id', 'latency', 'tokens'] as const),
  ...(['own_latency', 'own_tokens', 'scorer_call_ids', 'scores'] as const),
] as const

export type StoredTrial = Record<(typeof trialColumns)[number], SqlValue>

/** Derived from the scores and the evaluation. */
const shapeColumns = ['shape', ...slotNames]

async function deriveSome(tx: Transaction, project: string, ids: string[], now: number): Promise<void> {
  const rows = await tx.all<StoredTrial>(
    sql`${wantedIds(ids)} SELECT ${rawSql(trialColumns.join(', '))} FROM wanted CROSS JOIN eval_trials
        WHERE project_id = ${project} AND trial_id = wanted.id`,
  )
  const stored = new Map(rows.map((row) => [row.trial_id as string, row]))
  const trials = await readTrials(tx, project, ids, now)
  const tableRows = await referredRows(tx, project, trials.values())
  const shapeNumber = createShapes(tx, project)
  const gone: string[] = []
  const changed: SqlValue[][] = []
  const coming: RowUse[] = []
  const leaving: RowUse[] = []
  for (const id of ids) {
    const before = stored.get(id)
    const trial = trials.get(id)
    const after = trial && storedTrial(project, trial, tableRows)
    if (before && after && trialColumns.every((column) => before[column] === after[column])) continue
    if (before && before.row_digest !== '') leaving.push(useOf(before))
    if (after) coming.push(useOf(after))
    if (trial && after) {
      const shaped = shapeOf(trial.scores)
      const shape = await shapeNumber(trial.evaluation_id, shaped)
      const numbers: SqlValue[] = shape > 0 && shaped ? shaped.numbers : []
      while (numbers.length < slotCount) numbers.push(null)
      changed.push([...trialColumns.map((column) => after[column]), shape, ...numbers, derivation])
    } else if (before) gone.push(id)
  }
  await updateRowSets(tx, project, coming, leaving)
  if (gone.length > 0) {
    await tx.run(sql`DELETE FROM eval_trials WHERE project_id = ${project} AND trial_id IN (${listOf(gone)})`)
  }
  for (const statement of insertTrials(changed)) await tx.run(statement)
}

export function storedTrial(project: string, trial: Trial, rows: ReadonlyMap<string, string>): StoredTrial {
  const { digest, kind, inline } = trial.example
  // The text of the trial's row, if it is known.
  const row = kind === exampleKinds.ref ? rows.get(digest) : inline
  return {
    project_id: project,
    trial_id: trial.id,
    evaluation_id: trial.evaluation_id,
    row_digest: digest,
    row_kind: kind,
    brief: row === undefined ? null : briefOf(row),
    started_at: trial.started_at,
    stale_at: trial.stale_at,
    output_key: trial.output_key,
    failed: Number(trial.failed),
    predict_call_id: trial.predict_call_id,
    latency: trial.latency,
    tokens: trial.tokens,
    own_latency: trial.own_latency,
    own_tokens: trial.own_tokens,
    scorer_call_ids: JSON.stringify(trial.scorer_call_ids),
    scores: trial.scores,
  }
}

/** The rows that trials refer to, if the tables of the project already have them. */
export async function referredRows(
  tx: Pick<Transaction, 'all'>,
  project: string,
  trials: Iterable<Trial>,
): Promise<Map<string, string>> {
  const digests = new Set<string>()
  for (const { example } of trials) if (example.kind === exampleKinds.ref) digests.add(example.digest)
  if (digests.size === 0) return new Map()
  const found = await tx.all<{ digest: string; val: string }>(
    sql`${wantedIds([...digests])} SELECT digest, val FROM wanted CROSS JOIN table_rows
        WHERE project_id = ${project} AND digest = wanted.id`,
  )
  return new Map(found.map(({ digest, val }) => [digest, val]))
}

function useOf({ evaluation_id, row_digest }: StoredTrial): RowUse {
  return { evaluation: evaluation_id as string, row: row_digest as string }
}

const insertedColumns = [...trialColumns, ...shapeColumns, 'derivation']
const replaced = [...trialColumns, ...shapeColumns].slice(2).map((name) => `${name} = excluded.${name}`)
const insertTrials = insertInto(
  'eval_trials',
  insertedColumns,
  `ON CONFLICT (project_id, trial_id) DO UPDATE SET ${[...replaced, nextDerivation('eval_trials')].join(', ')}`,
  { most: trialsAtOnce },
)

/** The trials among these calls, derived from the calls as they are now; some may be gone, or not be trials. */
export async function readTrials(
  tx: Reader,
  project: string,
  ids: readonly string[],
  now: number,
): Promise<Map<string, Trial>> {
  const { dialect } = tx
  const mentioning = (column: string, word: string, where: string) =>
    sql`CASE WHEN ${dialect.position(rawSql(where), sql`${word}`)} > 0 THEN ${rawSql(column)} END AS ${rawSql(column)}`
  const small = rawSql('calls.id, parent_id, op_name, started_at, ended_at, exception, expire_at, attributes')
  const found = await tx.all<EvaluationCall>(
    sql`${wantedIds(ids)} SELECT ${small}, inputs, output, summary FROM wanted CROSS JOIN calls
        WHERE project_id = ${project} AND calls.id = wanted.id AND ${isLive(now)}`,
  )
  const trialCalls = found.filter(({ parent_id, op_name }) => parent_id !== null && isTrialOp(op_name))
  const trials = new Map<string, Trial>()
  if (trialCalls.length === 0) return trials
  const parents = trialCalls.map(({ id }) => id)
  // Ordered by their index: PostgreSQL, having seen that most trials have one parent, would otherwise read all calls of
  // that parent. For a child that is not a scorer, only the object it is a method of is read from its inputs, and
  // nothing from its output.
  const children = await tx.all<EvaluationCall>(
    sql`SELECT ${small}, summary, ${mentioning('inputs', '"self"', 'inputs')},
          ${mentioning('output', 'score', 'attributes')} FROM calls
        WHERE project_id = ${project} AND parent_id IN (${listOf(parents)}) AND ${isLive(now)} ORDER BY parent_id LIMIT ${maxChildren * parents.length}`,
  )
  // Not sorted by time in SQL, which would then search all calls of the project in that order.
  children.sort((a, b) => a.started_at - b.started_at || (a.id < b.id ? -1 : 1))
  const byParent = Map.groupBy(children, ({ parent_id }) => parent_id as string)
  for (const call of trialCalls) trials.set(call.id, trialOf(call, byParent.get(call.id) ?? []))
  return trials
}

interface RefreshStep {
  now: number
  /** Null means every project. */
  project_id: string | null
  limit: number
}

/** Derives trials again after one of their calls has expired, a few at a time. Returns how many. */
export async function refreshStale(
  tx: Transaction,
  { now, project_id, limit }: RefreshStep,
): Promise<number> {
  const inProject = project_id === null ? rawSql('1 = 1') : sql`project_id = ${project_id}`
  const stale = await tx.all<{ project_id: string; trial_id: string }>(
    sql`SELECT project_id, trial_id FROM eval_trials WHERE stale_at <= ${now} AND ${inProject} ORDER BY stale_at LIMIT ${limit}`,
  )
  const byProject = Map.groupBy(stale, (row) => row.project_id)
  for (const project of [...byProject.keys()].sort()) {
    const ids = (byProject.get(project) ?? []).map(({ trial_id }) => trial_id)
    await deriveTrials(tx, project, ids, now)
  }
  return stale.length
}
