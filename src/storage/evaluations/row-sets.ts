import { hash } from 'node:crypto'
import { batchesOf } from '../../domain/batches.ts'
import { newId } from '../../domain/ids.ts'
import { listOf, type Sql, sql, wantedPairs } from '../sql/sql.ts'
import type { Reader, Transaction } from '../transaction.ts'
import { deleteShapes } from './shapes.ts'

/** A trial of an evaluation is about a row. */
export interface RowUse {
  evaluation: string
  row: string
}

export interface RowSet {
  evaluation_id: string
  row_count: number
  /** Of the rows, independent of their order: evaluations of the same rows have the same sum. */
  row_sum: string
  /** Changes with each trial that is derived. */
  version: string
  /** The version from which the columns were made. */
  kept_as: string | null
}

export function haveSameRows(sets: readonly Pick<RowSet, 'row_sum'>[]): boolean {
  return sets.every(({ row_sum }) => row_sum === sets[0]?.row_sum)
}

const keyOf = (evaluation: string, row: string) => `${evaluation}\0${row}`

/** Pairs per statement. */
const pairsAtOnce = 100

/**
 * Called before trials are added or removed, with the lock of a derivation: updates what is stored about the rows of
 * their evaluations, and notes that these have changed.
 */
export async function updateRowSets(
  tx: Transaction,
  project: string,
  coming: readonly RowUse[],
  leaving: readonly RowUse[],
): Promise<void> {
  const touched = new Set([...coming, ...leaving].map(({ evaluation }) => evaluation))
  const changes = new Map<string, RowUse & { coming: number; leaving: number }>()
  const note = (use: RowUse, way: 'coming' | 'leaving') => {
    const key = keyOf(use.evaluation, use.row)
    const change = changes.get(key) ?? { ...use, coming: 0, leaving: 0 }
    change[way]++
    changes.set(key, change)
  }
  for (const use of coming) note(use, 'coming')
  for (const use of leaving) note(use, 'leaving')

  const all = [...changes.values()].filter((change) => change.coming !== change.leaving)
  const steps = new Map<string, { count: number; sum: bigint }>()
  for (const some of batchesOf(all, pairsAtOnce)) {
    const there = await trialsThere(tx, project, some, leaving.length + 1)
    for (const change of some) {
      const { evaluation, row } = change
      const before = there.get(keyOf(evaluation, row)) ?? 0
      const after = before + change.coming - change.leaving
      const way = Number(after > 0) - Number(before > 0)
      if (way === 0) continue
      const step = steps.get(evaluation) ?? { count: 0, sum: 0n }
      step.count += way
      step.sum += BigInt(way) * numberOfRow(row)
      steps.set(evaluation, step)
    }
  }
  const version = newId()
  if (steps.size > 0) await apply(tx, project, steps, version)
  const others = [...touched].filter((evaluation) => !steps.has(evaluation))
  if (others.length === 0) return
  await tx.run(
    sql`UPDATE eval_row_sets SET version = ${version}
        WHERE project_id = ${project} AND evaluation_id IN (${listOf(others)})`,
  )
}

/** Notes that the results of these trials may have changed. */
export async function renewRowSets(
  tx: Transaction,
  project: string,
  trials: readonly string[],
): Promise<void> {
  for (const some of batchesOf(trials, pairsAtOnce)) {
    await tx.run(
      sql`UPDATE eval_row_sets SET version = ${newId()} WHERE project_id = ${project} AND evaluation_id IN (
            SELECT evaluation_id FROM eval_trials WHERE project_id = ${project} AND trial_id IN (${listOf(some)}))`,
    )
  }
}

/** The number of trials about each of these rows, counted up to `most`. */
async function trialsThere(
  tx: Transaction,
  project: string,
  uses: readonly RowUse[],
  most: number,
): Promise<Map<string, number>> {
  const rows = await tx.all<{ evaluation: string; row_digest: string; count: number }>(
    sql`${wantedPairs(uses.map(({ evaluation, row }) => [evaluation, row]))} SELECT evaluation, row_digest,
          (SELECT count(*) FROM (SELECT 1 FROM eval_trials WHERE project_id = ${project}
            AND evaluation_id = wanted.evaluation AND row_digest = wanted.row_digest LIMIT ${most}) AS there) AS count
        FROM wanted WHERE evaluation IS NOT NULL`,
  )
  return new Map(rows.map(({ evaluation, row_digest, count }) => [keyOf(evaluation, row_digest), count]))
}

const size = 1n << 128n

/**
 * The sum of these numbers identifies a set of rows as well as a digest would, and rows can be added to it or taken
 * away at any time.
 */
export function numberOfRow(digest: string): bigint {
  return BigInt(`0x${hash('sha256', digest, 'hex').slice(0, 32)}`)
}

export function sumOfRows(sum: bigint, step: bigint): bigint {
  return (((sum + step) % size) + size) % size
}

async function apply(
  tx: Transaction,
  project: string,
  steps: ReadonlyMap<string, { count: number; sum: bigint }>,
  version: string,
): Promise<void> {
  const before = await readRowSets(tx, project, [...steps.keys()])
  const empty: string[] = []
  for (const [evaluation, step] of steps) {
    const { row_count = 0, row_sum = '0' } = before.find((set) => set.evaluation_id === evaluation) ?? {}
    const count = row_count + step.count
    if (count === 0) {
      empty.push(evaluation)
      continue
    }
    const sum = sumOfRows(BigInt(`0x${row_sum}`), step.sum)
    await tx.run(
      sql`INSERT INTO eval_row_sets (project_id, evaluation_id, row_count, row_sum, version)
          VALUES (${project}, ${evaluation}, ${count}, ${sum.toString(16)}, ${version})
          ON CONFLICT (project_id, evaluation_id) DO UPDATE
          SET row_count = excluded.row_count, row_sum = excluded.row_sum, version = excluded.version`,
    )
  }
  for (const statement of deleteRowSets(project, empty)) await tx.run(statement)
}

/** Removes what is left of evaluations that have no trials any more. */
export function deleteRowSets(project: string, evaluations: readonly string[]): Sql[] {
  if (evaluations.length === 0) return []
  const of = sql`project_id = ${project} AND evaluation_id IN (${listOf(evaluations)})`
  return [
    sql`DELETE FROM eval_row_sets WHERE ${of}`,
    sql`DELETE FROM eval_columns WHERE ${of}`,
    deleteShapes(project, evaluations),
  ]
}

/** Of the evaluations that have rows. */
export function readRowSets(db: Reader, project: string, evaluations: readonly string[]): Promise<RowSet[]> {
  return db.all<RowSet>(
    sql`SELECT evaluation_id, row_count, row_sum, version, kept_as FROM eval_row_sets
        WHERE project_id = ${project} AND evaluation_id IN (${listOf(evaluations)})`,
  )
}
