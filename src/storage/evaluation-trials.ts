import { leavesOf, type ScoreLeaf } from '../domain/evaluations/leaves.ts'
import { type EvaluationCall, type Trial, trialOf } from '../domain/evaluations/trial.ts'
import { isTrialOp } from '../domain/evaluations/trial-ops.ts'
import type { CallPart } from './calls.ts'
import { listOf, Sql, type SqlValue, sql, trusted, wantedOf } from './sql.ts'
import type { Transaction } from './transaction.ts'

/** Ids of one statement. */
const idsAtOnce = 200
/** Trials that are held in memory at a time, with the calls below them. */
const trialsAtOnce = 25
/** Of one trial; no harness makes as many, and a request must not read without end. */
const mostChildren = 1000

/** Two who write a trial and its children at once must see each other; who writes one child beside another need not. */
const membership = (project: string) => `the trials of ${project}`
const derivation = (project: string) => `the results of ${project}`

/** Before calls are written: which projects the parts are of, and where new trials may appear. */
export async function announceParts(tx: Transaction, parts: readonly CallPart[]): Promise<void> {
  const projects = new Map<string, boolean>()
  for (const { project_id, start } of parts) {
    const brings = start !== undefined && start.parent_id !== null && isTrialOp(start.op_name)
    projects.set(project_id, brings || projects.get(project_id) === true)
  }
  for (const project of [...projects.keys()].sort()) {
    if (projects.get(project)) await tx.turn(membership(project))
    else await tx.share(membership(project))
  }
}

/** Before calls are deleted. */
export function announceDeletion(tx: Transaction, project: string): Promise<void> {
  return tx.share(membership(project))
}

/** After calls were written: derives again what they touch. */
export async function followParts(tx: Transaction, parts: readonly CallPart[], now: number): Promise<void> {
  const byProject = Map.groupBy(parts, ({ project_id }) => project_id)
  for (const project of [...byProject.keys()].sort()) {
    const touched = new Set<string>()
    const ids = new Set<string>()
    const parents = new Set<string>()
    for (const { id, start } of byProject.get(project) as CallPart[]) {
      ids.add(id)
      if (start?.parent_id) {
        if (isTrialOp(start.op_name)) touched.add(id)
        parents.add(start.parent_id)
      }
    }
    for (const id of await trialsTouched(tx, project, [...ids], [...parents])) touched.add(id)
    await deriveTrials(tx, project, touched, now)
  }
}

/** After calls were deleted. */
export async function followDeletion(
  tx: Transaction,
  project: string,
  ids: readonly string[],
  now: number,
): Promise<void> {
  await deriveTrials(tx, project, await trialsTouched(tx, project, ids, []), now)
}

/** The trials that these calls are, belong to, or will belong to. */
async function trialsTouched(
  tx: Transaction,
  project: string,
  ids: readonly string[],
  parents: readonly string[],
): Promise<Set<string>> {
  const touched = new Set<string>()
  const calls = [...new Set([...ids, ...parents])]
  for (let from = 0; from < calls.length; from += idsAtOnce) {
    const found = await tx.all<{ trial_id: string }>(
      sql`${wantedOf(calls.slice(from, from + idsAtOnce))} SELECT trial_id FROM wanted CROSS JOIN eval_trials
          WHERE project_id = ${project} AND trial_id = wanted.id`,
    )
    for (const { trial_id } of found) touched.add(trial_id)
  }
  for (let from = 0; from < ids.length; from += idsAtOnce) {
    const found = await tx.all<{ trial_id: string }>(
      sql`${wantedOf(ids.slice(from, from + idsAtOnce))} SELECT trial_id FROM wanted CROSS JOIN eval_children
          WHERE project_id = ${project} AND call_id = wanted.id`,
    )
    for (const { trial_id } of found) touched.add(trial_id)
  }
  return touched
}

/** Makes the rows of these trials what their calls say now. */
export async function deriveTrials(
  tx: Transaction,
  project: string,
  trialIds: Iterable<string>,
  now: number,
): Promise<void> {
  const ids = [...new Set(trialIds)].sort()
  if (ids.length === 0) return
  await tx.turn(derivation(project))
  for (let from = 0; from < ids.length; from += trialsAtOnce) {
    await deriveSome(tx, project, ids.slice(from, from + trialsAtOnce), now)
  }
}

type StoredTrial = Record<(typeof trialColumns)[number], SqlValue>

const trialColumns = [
  'project_id',
  'trial_id',
  'evaluation_id',
  'row_digest',
  'row_kind',
  'started_at',
  'stale_at',
  'output_key',
  'failed',
  'predict_call_id',
  'latency',
  'tokens',
  'own_latency',
  'own_tokens',
  'scorer_call_ids',
  'scores',
] as const

const childColumns = ['project_id', 'call_id', 'trial_id']

const leafColumns = [
  'project_id',
  'evaluation_id',
  'scorer',
  'path',
  'trial_id',
  'position',
  'kind',
  'number',
]

async function deriveSome(tx: Transaction, project: string, ids: string[], now: number): Promise<void> {
  const stored = new Map(
    (
      await tx.all<StoredTrial>(
        sql`${wantedOf(ids)} SELECT ${trusted(trialColumns.join(', '))} FROM wanted CROSS JOIN eval_trials
            WHERE project_id = ${project} AND trial_id = wanted.id`,
      )
    ).map((row) => [row.trial_id as string, row]),
  )
  const { trials, members } = await readTrials(tx, project, ids, now)
  await keepMembers(tx, project, ids, members)

  const gone: string[] = []
  const changed: StoredTrial[] = []
  const leaves: SqlValue[][] = []
  for (const id of ids) {
    const before = stored.get(id)
    const trial = trials.get(id)
    if (trial === undefined) {
      if (before === undefined) continue
      gone.push(id)
      await removeLeaves(tx, before)
      continue
    }
    const after = storedTrial(project, trial)
    if (before && trialColumns.every((column) => before[column] === after[column])) continue
    changed.push(after)
    if (before?.scores === after.scores && before.evaluation_id === after.evaluation_id) continue
    if (before) await removeLeaves(tx, before)
    for (const leaf of leavesOf(trial.scores)) leaves.push(storedLeaf(project, trial, leaf))
  }
  if (gone.length > 0) {
    await tx.run(sql`DELETE FROM eval_trials WHERE project_id = ${project} AND trial_id IN (${listOf(gone)})`)
  }
  const key = ['project_id', 'trial_id']
  const merge = trialColumns.filter((name) => !key.includes(name)).map((name) => `${name} = excluded.${name}`)
  await insertAll(
    tx,
    'eval_trials',
    trialColumns,
    changed.map((row) => trialColumns.map((column) => row[column])),
    `ON CONFLICT (project_id, trial_id) DO UPDATE SET ${merge.join(', ')}`,
  )
  await insertAll(tx, 'eval_leaves', leafColumns, leaves, '')
}

function storedTrial(project: string, trial: Trial): StoredTrial {
  return {
    project_id: project,
    trial_id: trial.id,
    evaluation_id: trial.evaluation_id,
    row_digest: trial.example.digest,
    row_kind: trial.example.kind,
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

const pathOf = (leaf: ScoreLeaf) => (leaf.path === null ? '' : `.${leaf.path}`)

function storedLeaf(project: string, trial: Trial, leaf: ScoreLeaf): SqlValue[] {
  const { scorer, position, kind, number } = leaf
  return [project, trial.evaluation_id, scorer, pathOf(leaf), trial.id, position, kind, number]
}

/** By their whole key, which follows from the scores they came from: an index by trial would cost as much as the leaves. */
async function removeLeaves(tx: Transaction, { scores, ...trial }: StoredTrial): Promise<void> {
  const names = new Set<string>()
  for (const leaf of leavesOf(scores as string)) {
    const name = JSON.stringify([leaf.scorer, pathOf(leaf)])
    if (names.has(name)) continue
    names.add(name)
    await tx.run(
      sql`DELETE FROM eval_leaves WHERE project_id = ${trial.project_id} AND evaluation_id = ${trial.evaluation_id}
          AND scorer = ${leaf.scorer} AND path = ${pathOf(leaf)} AND trial_id = ${trial.trial_id}`,
    )
  }
}

const callColumns = trusted(
  'calls.id, parent_id, op_name, started_at, ended_at, exception, expire_at, attributes, inputs, output, summary',
)

interface ReadTrials {
  trials: Map<string, Trial>
  /** Every call below a trial that was not deleted, by its id: also one that has no start to see yet. */
  members: Map<string, string>
}

/** The trials among these calls as they follow from the calls, which may be gone or be no trials. */
export async function readTrials(
  tx: Pick<Transaction, 'all'>,
  project: string,
  ids: readonly string[],
  now: number,
): Promise<ReadTrials> {
  const live = sql`started_at IS NOT NULL AND deleted_at IS NULL AND (expire_at IS NULL OR expire_at > ${now})`
  const calls = await tx.all<EvaluationCall>(
    sql`${wantedOf(ids)} SELECT ${callColumns} FROM wanted CROSS JOIN calls
        WHERE project_id = ${project} AND calls.id = wanted.id AND parent_id IS NOT NULL AND ${live}`,
  )
  const trialCalls = calls.filter(({ op_name }) => isTrialOp(op_name))
  const trials = new Map<string, Trial>()
  const members = new Map<string, string>()
  if (trialCalls.length === 0) return { trials, members }
  const children = await tx.all<EvaluationCall>(
    sql`${wantedOf(trialCalls.map(({ id }) => id))} SELECT ${callColumns} FROM wanted CROSS JOIN calls
        WHERE project_id = ${project} AND parent_id = wanted.id AND ${live}
        LIMIT ${mostChildren * trialCalls.length}`,
  )
  // Not in SQL, which would then look for them in the order of all calls of the project.
  children.sort((a, b) => a.started_at - b.started_at || (a.id < b.id ? -1 : 1))
  const byParent = Map.groupBy(children, ({ parent_id }) => parent_id as string)
  for (const call of trialCalls) {
    const below = byParent.get(call.id) ?? []
    trials.set(call.id, trialOf(call, below))
    for (const { id } of below) members.set(id, call.id)
  }
  return { trials, members }
}

async function keepMembers(
  tx: Transaction,
  project: string,
  trialIds: readonly string[],
  members: ReadonlyMap<string, string>,
): Promise<void> {
  const known = await tx.all<{ call_id: string; trial_id: string }>(
    sql`${wantedOf(trialIds)} SELECT call_id, trial_id FROM wanted CROSS JOIN eval_children
        WHERE project_id = ${project} AND trial_id = wanted.id`,
  )
  const same = new Set<string>()
  const left: string[] = []
  for (const { call_id, trial_id } of known) {
    if (members.get(call_id) === trial_id) same.add(call_id)
    else if (!members.has(call_id)) left.push(call_id)
  }
  for (let from = 0; from < left.length; from += idsAtOnce) {
    await tx.run(
      sql`DELETE FROM eval_children WHERE project_id = ${project}
          AND call_id IN (${listOf(left.slice(from, from + idsAtOnce))})`,
    )
  }
  const added = [...members].filter(([call]) => !same.has(call))
  await insertAll(
    tx,
    'eval_children',
    childColumns,
    added.map(([call, trial]) => [project, call, trial]),
    'ON CONFLICT (project_id, call_id) DO UPDATE SET trial_id = excluded.trial_id',
  )
}

/** Rows of one statement: few sizes, so that few statements are prepared. */
const rowsAtOnce = 16

async function insertAll(
  tx: Transaction,
  table: string,
  columns: readonly string[],
  rows: readonly (readonly SqlValue[])[],
  behind: string,
): Promise<void> {
  const row = `(${columns.map(() => '?').join(', ')})`
  const whole = rows.length - (rows.length % rowsAtOnce)
  const insert = (some: readonly (readonly SqlValue[])[]) =>
    tx.run(
      new Sql(
        `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${Array(some.length).fill(row).join(', ')} ${behind}`,
        some.flat(),
      ),
    )
  for (let from = 0; from < whole; from += rowsAtOnce) await insert(rows.slice(from, from + rowsAtOnce))
  for (const one of rows.slice(whole)) await insert([one])
}

export interface RefreshStep {
  now: number
  /** Null is every project. */
  project_id: string | null
  limit: number
}

/** Derives again the trials of which a call has expired, a few at a time. Answers how many there were. */
export async function refreshStale(
  tx: Transaction,
  { now, project_id, limit }: RefreshStep,
): Promise<number> {
  const inProject = project_id === null ? trusted('1 = 1') : sql`project_id = ${project_id}`
  const stale = await tx.all<{ project_id: string; trial_id: string }>(
    sql`SELECT project_id, trial_id FROM eval_trials WHERE stale_at <= ${now} AND ${inProject} LIMIT ${limit}`,
  )
  const byProject = Map.groupBy(stale, (row) => row.project_id)
  for (const project of [...byProject.keys()].sort()) {
    const ids = (byProject.get(project) ?? []).map(({ trial_id }) => trial_id)
    await deriveTrials(tx, project, ids, now)
  }
  return stale.length
}
