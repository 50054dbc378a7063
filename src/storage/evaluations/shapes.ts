import { digestOf } from '../../domain/digests.ts'
import type { Shaped, ShapeLeaf } from '../../domain/evaluations/shape.ts'
import { listOf, type Sql, sql } from '../sql/sql.ts'
import { countOf, type Reader, type Transaction } from '../transaction.ts'

/** Trials without a scalar in their scores. */
export const emptyShape = 0
/** Trials whose scores do not fit a shape and have to be read themselves. */
export const noShape = -1

/** Shapes of one evaluation: scorers that name their scores after the row would add one for each trial. */
const maxShapes = 64

export interface EvaluationShape {
  shape: number
  leaves: readonly ShapeLeaf[]
}

interface StoredShape {
  shape: number
  leaves: string
}

/**
 * Returns the number of a shape of an evaluation. Call this with the lock of a derivation, so that nothing else adds
 * shapes.
 */
export function createShapes(tx: Transaction, project: string) {
  const known = new Map<string, number>()

  async function numberOf(evaluation: string, leaves: string): Promise<number> {
    const digest = digestOf(leaves)
    const own = sql`project_id = ${project} AND evaluation_id = ${evaluation}`
    const found = await tx.get<{ shape: number }>(
      sql`SELECT shape FROM eval_shapes WHERE digest = ${digest} AND ${own}`,
    )
    if (found) return found.shape
    if ((await countOf(tx, sql`eval_shapes WHERE ${own} AND shape > 0`)) >= maxShapes)
      return marked(evaluation)
    const { shape } = (await tx.get<{ shape: number }>(
      sql`SELECT coalesce(
          (SELECT min(shape) FROM eval_shapes WHERE project_id = ${project} AND digest = ${digest}),
          (SELECT max(shape) + 1 FROM eval_shapes WHERE project_id = ${project} AND shape > 0),
          1) AS shape`,
    )) as { shape: number }
    await add(evaluation, shape, digest, leaves)
    return shape
  }

  /** Queries that read columns must know that some trials are missing from the columns. */
  async function marked(evaluation: string): Promise<number> {
    await add(evaluation, noShape, '', '[]')
    return noShape
  }

  async function add(evaluation: string, shape: number, digest: string, leaves: string): Promise<void> {
    await tx.run(
      sql`INSERT INTO eval_shapes (project_id, evaluation_id, shape, digest, leaves)
          VALUES (${project}, ${evaluation}, ${shape}, ${digest}, ${leaves}) ON CONFLICT DO NOTHING`,
    )
  }

  return async (evaluation: string, shaped: Shaped | undefined): Promise<number> => {
    const leaves = shaped?.leaves ?? ''
    if (leaves === '[]') return emptyShape
    const key = `${evaluation} ${leaves}`
    const before = known.get(key)
    if (before !== undefined) return before
    const shape = shaped === undefined ? await marked(evaluation) : await numberOf(evaluation, leaves)
    known.set(key, shape)
    return shape
  }
}

/** The distinct shapes of the trials of these evaluations, including `noShape` if some trial has none. */
export async function readShapes(
  db: Reader,
  project: string,
  evaluations: readonly string[],
): Promise<EvaluationShape[]> {
  const stored = await db.all<StoredShape>(
    sql`SELECT DISTINCT shape, leaves FROM eval_shapes
        WHERE project_id = ${project} AND evaluation_id IN (${listOf(evaluations)}) ORDER BY shape`,
  )
  return stored.map(({ shape, leaves }) => ({ shape, leaves: JSON.parse(leaves) as ShapeLeaf[] }))
}

/** Removes what is left of evaluations that have no trials any more. */
export function deleteShapes(project: string, evaluations: readonly string[]): Sql {
  return sql`DELETE FROM eval_shapes WHERE project_id = ${project} AND evaluation_id IN (${listOf(evaluations)})`
}
