import { isDeepStrictEqual } from 'node:util'
import { type ShapeLeaf, shapeOf } from '../../domain/evaluations/shape.ts'
import { isTrialOp } from '../../domain/evaluations/trial-ops.ts'
import { type Sql, type SqlValue, sql, wantedIds } from '../sql/sql.ts'
import { allRows, type BoundReader, type Command, type Reader } from '../transaction.ts'
import { gatherColumns } from './columns/gather.ts'
import { type OpenedSet, readColumns, readSets } from './columns/reading.ts'
import { membershipLock, pendingAmong } from './pending.ts'
import { deleteRowSets, numberOfRow, sumOfRows } from './row-sets.ts'
import { emptyShape, noShape, readShapes } from './shapes.ts'
import {
  derivationLock,
  deriveTrials,
  readTrials,
  referredRows,
  type StoredTrial,
  storedTrial,
  trialColumns,
} from './trials.ts'

interface EvaluationOfProject {
  project_id: string
  evaluation_id: string
}

/** Trials in memory at a time, with the calls below them. */
const trialsAtOnce = 64

/** More problems would only repeat what is wrong. */
export const maxProblems = 100

/** Calls that may be trials; their op tells which of them are. */
const maybeTrials = sql`op_name LIKE '%predict%' AND parent_id IS NOT NULL`

const evaluations = sql`SELECT project_id, evaluation_id FROM eval_trials
  UNION SELECT project_id, evaluation_id FROM eval_row_sets
  UNION SELECT project_id, evaluation_id FROM eval_shapes
  UNION SELECT project_id, parent_id FROM calls WHERE ${maybeTrials}
  ORDER BY project_id, evaluation_id`

/** Every evaluation that has derived results, or should have. */
export function findEvaluations(db: BoundReader): Promise<EvaluationOfProject[]> {
  return allRows<EvaluationOfProject>(db, evaluations)
}

/**
 * Compares the derived results of an evaluation with its calls, a few trials at a time. Returns descriptions of the
 * differences, up to about a hundred; empty if everything is right. Results that a running server is about to derive
 * again are not reported.
 */
export async function checkEvaluation(
  db: BoundReader,
  of: EvaluationOfProject,
  now: number,
): Promise<string[]> {
  const { project_id: project, evaluation_id: evaluation } = of
  const problems: string[] = []
  const rows = new Set<string>()
  for await (const trials of db.stream<{ id: string; op_name: string | null }>(
    trialsOf(project, evaluation),
    { rows: trialsAtOnce },
  )) {
    const ids = trials.filter(({ op_name }) => op_name === null || isTrialOp(op_name)).map(({ id }) => id)
    for (const id of await wrongTrials(db, of, ids, now, rows)) {
      problems.push(`trial ${id} of evaluation ${evaluation} in ${project} does not match its calls`)
    }
    if (problems.length >= maxProblems) return problems
  }
  const [set] = await readSets(db, project, [evaluation])
  const sum = [...rows].reduce((total, row) => sumOfRows(total, numberOfRow(row)), 0n).toString(16)
  if (Number(set?.row_count ?? 0) !== rows.size || (set?.row_sum ?? '0') !== sum) {
    problems.push(`the rows of evaluation ${evaluation} in ${project} do not match its trials`)
  }
  if (problems.length === 0 && set !== undefined && !(await areColumnsRight(db, of, set))) {
    problems.push(`the columns of evaluation ${evaluation} in ${project} do not match its trials`)
  }
  return problems
}

/** True also if there are no columns, or if the trials have changed since the columns were stored. */
async function areColumnsRight(
  db: BoundReader,
  { project_id: project, evaluation_id: evaluation }: EvaluationOfProject,
  set: OpenedSet,
): Promise<boolean> {
  if (set.header === undefined) return set.kept_as !== set.version
  const stored = await readColumns(db, project, set)
  const gathered = await gatherColumns(db, project, evaluation)
  const [now] = await readSets(db, project, [evaluation])
  if (now?.version !== set.version) return true
  const { latency: _, tokens: __, ...header } = set.header
  return (
    gathered !== undefined &&
    isDeepStrictEqual(header, JSON.parse(JSON.stringify(gathered.header))) &&
    [...gathered.columns].every(
      ([name, bytes]) => Buffer.compare(bytes, stored.get(name) ?? new Uint8Array()) === 0,
    )
  )
}

/** Derived trials, and calls that may be trials; the latter come with an op to tell. */
function trialsOf(project: string, evaluation: string): Sql {
  return sql`SELECT trial_id AS id, NULL AS op_name FROM eval_trials
      WHERE project_id = ${project} AND evaluation_id = ${evaluation}
    UNION ALL SELECT id, op_name FROM calls
      WHERE project_id = ${project} AND parent_id = ${evaluation} AND ${maybeTrials} AND NOT EXISTS (
        SELECT 1 FROM eval_trials WHERE eval_trials.project_id = calls.project_id AND trial_id = calls.id
          AND evaluation_id = ${evaluation})`
}

/** A running server may write one of them between two looks. */
const looks = 3

/** `rows` collects the rows of the derived trials. */
async function wrongTrials(
  db: Reader,
  { project_id: project, evaluation_id: evaluation }: EvaluationOfProject,
  ids: readonly string[],
  now: number,
  rows: Set<string>,
): Promise<readonly string[]> {
  let wrong = ids
  for (let look = 0; look < looks && wrong.length > 0; look++) wrong = await differing(wrong)
  return wrong

  async function differing(some: readonly string[]): Promise<string[]> {
    const stored = await db.all<StoredTrial & Record<string, SqlValue>>(
      sql`${wantedIds(some)} SELECT eval_trials.* FROM wanted CROSS JOIN eval_trials
          WHERE project_id = ${project} AND trial_id = wanted.id`,
    )
    const derived = new Map(stored.map((row) => [row.trial_id as string, row]))
    const trials = await readTrials(db, project, some, now)
    const tableRows = await referredRows(db, project, trials.values())
    const pending = await pendingAmong(db, project, some)
    const known = await readShapes(db, project, [evaluation])
    const shapes = new Map(known.map(({ shape, leaves }) => [shape, leaves]))
    return some.filter((id) => {
      const row = derived.get(id)
      const trial = trials.get(id)
      const isStale = row !== undefined && row.stale_at !== null && Number(row.stale_at) <= now
      const isPending = isStale || pending.has(id)
      if (row?.evaluation_id === evaluation && row.row_digest !== '') rows.add(row.row_digest as string)
      if (row === undefined || trial === undefined) return row !== trial && !isPending
      if (isPending) return false
      const expected = storedTrial(project, trial, tableRows)
      // A row that was stored after its trial is looked up in its table.
      const isSame = trialColumns.every(
        (name) => same(row[name], expected[name]) || (name === 'brief' && row[name] === null),
      )
      return !isSame || !shapeIsRight(shapes, row, trial.scores)
    })
  }
}

function shapeIsRight(
  shapes: ReadonlyMap<number, readonly ShapeLeaf[]>,
  row: Record<string, SqlValue>,
  scores: string,
): boolean {
  const shape = Number(row.shape)
  const shaped = shapeOf(scores)
  if (shape === noShape) return shapes.has(noShape)
  if (shaped === undefined) return false
  if (shape === emptyShape) return shaped.leaves === '[]'
  return (
    JSON.stringify(shapes.get(shape)) === shaped.leaves &&
    shaped.numbers.every((number, slot) => same(row[`v${slot}`] ?? null, number))
  )
}

/** One of the engines returns numbers as texts. */
function same(stored: SqlValue | undefined, expected: SqlValue | undefined): boolean {
  if (stored === expected) return true
  return typeof expected === 'number' && stored !== null && Number(stored) === expected
}

/** Discards the derived results of an evaluation and derives them again from the calls. */
export const rebuildEvaluation: Command<EvaluationOfProject & { now: number }, number> = async (
  tx,
  { project_id: project, evaluation_id: evaluation, now },
) => {
  await tx.lock(membershipLock(project))
  await tx.lock(derivationLock(project))
  const trials = await tx.all<{ id: string; op_name: string | null }>(trialsOf(project, evaluation))
  await tx.run(sql`DELETE FROM eval_trials WHERE project_id = ${project} AND evaluation_id = ${evaluation}`)
  for (const statement of deleteRowSets(project, [evaluation])) await tx.run(statement)
  const ids = trials.filter(({ op_name }) => op_name === null || isTrialOp(op_name)).map(({ id }) => id)
  await deriveTrials(tx, project, ids, now)
  return ids.length
}
