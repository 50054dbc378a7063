import { createYieldToLoop } from '../../../../packages/waiting/index.ts'
import {
  type ColumnsHeader,
  createGathering,
  type Gathered,
} from '../../../domain/evaluations/columns/gathering.ts'
import { slotNames } from '../../../domain/evaluations/shape.ts'
import { rawSql, sql } from '../../sql/sql.ts'
import type { BoundReader, Reader } from '../../transaction.ts'

/** The name of the column that describes the others. */
export const headerName = 'header'

/** What is stored for an evaluation as a whole: its columns, and what lists of evaluations show. */
export interface StoredHeader extends ColumnsHeader {
  latency: number | null
  tokens: number | null
}

/** Packing more would need more memory than a server should spend on background work. */
const maxTrials = 250_000

export interface VersionedEvaluation {
  project_id: string
  evaluation_id: string
  version: string
}

/**
 * Some evaluations whose stored columns are missing or out of date. Evaluations with so few rows that everything is
 * fast need none.
 */
export function findUnstored(
  db: Reader,
  limit: number,
): Promise<(VersionedEvaluation & { row_count: number })[]> {
  return db.all(
    sql`SELECT project_id, evaluation_id, version, row_count FROM eval_row_sets
        WHERE row_count >= 200 AND (kept_as IS NULL OR kept_as <> version)
        ORDER BY project_id, evaluation_id LIMIT ${limit}`,
  )
}

const slots = rawSql(slotNames.join(', '))

interface TrialLine extends Record<`v${number}`, number | string | null> {
  row_digest: string
  row_kind: number
  brief: string | null
  failed: number
  shape: number
}

/**
 * Packs the trials of an evaluation as they are now. Undefined if there are too many, or if some are not derived yet.
 */
export async function gatherColumns(
  db: BoundReader,
  project: string,
  evaluation: string,
): Promise<Gathered | undefined> {
  const gathering = createGathering()
  let trials = 0
  const lines = db.stream<TrialLine>(
    sql`SELECT row_digest, row_kind, brief, failed, shape, ${slots} FROM eval_trials AS trial
        WHERE project_id = ${project} AND evaluation_id = ${evaluation} AND ${db.dialect.trialsCancellable}
        ORDER BY row_digest, started_at, trial_id`,
    { rows: 200 },
  )
  for await (const some of lines) {
    trials += some.length
    if (trials > maxTrials) return undefined
    for (const line of some) {
      if (line.row_digest === '') return undefined
      const numbers = slotNames.map((name) => {
        const number = line[name] ?? null
        return number === null ? null : Number(number)
      })
      const { row_digest, row_kind, brief, failed, shape } = line
      gathering.add({ row_digest, row_kind, brief, failed, shape, numbers })
    }
  }
  return gathering.finish(createYieldToLoop(db.signal))
}
