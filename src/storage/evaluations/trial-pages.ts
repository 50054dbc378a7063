import { batchesOf } from '../../domain/batches.ts'
import {
  onAxis,
  type ScoreColumn,
  type ScoreColumns,
} from '../../domain/evaluations/columns/distributions.ts'
import { slotNames } from '../../domain/evaluations/shape.ts'
import type { Page } from '../../domain/view.ts'
import { allOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader, onlyRow, type Reader } from '../transaction.ts'
import type { EvaluationPages, ShapeSums } from './evaluation-pages.ts'
import { type FoundRow, type RowOrder, selectCountedPage } from './result-order.ts'
import { countRows, inScope, inView, type RowsOfView, selectRowPage, trialTable } from './result-rows.ts'
import { haveSameRows, type RowSet } from './row-sets.ts'

interface TrialSources {
  db: BoundReader
  rows: RowsOfView
  order: readonly RowOrder[]
  /** Of the evaluations that have trials. */
  sets: readonly RowSet[]
}

/** Answers from the trials themselves, whatever the view names. */
export function pagesOfTrials({ db, rows, order, sets }: TrialSources): EvaluationPages {
  const { filters, evaluations } = rows
  const rowsWith = (intersect: boolean): RowsOfView => ({ ...rows, intersect })
  const [first] = sets
  const isEmpty = (intersect: boolean) => intersect && sets.length < evaluations.length
  /** Evaluations of the same rows need not all be read, so that a page costs only what it shows. */
  const oneOfSame = filters.length === 0 && haveSameRows(sets) ? first : undefined

  async function count(intersect: boolean): Promise<number> {
    if (first === undefined || isEmpty(intersect)) return 0
    if (oneOfSame !== undefined) return oneOfSame.row_count
    return (await onlyRow<{ count: number }>(db, countRows(db, rowsWith(intersect)))).count
  }

  async function digestsOf(page: Page, after: string | null = null): Promise<string[]> {
    if (isEmpty(rows.intersect)) return []
    const from = oneOfSame === undefined ? rows : { ...rows, evaluations: [oneOfSame.evaluation_id] }
    const found = await allRows<FoundRow>(db, selectRowPage(db, from, page, after))
    return found.map(({ row_digest }) => row_digest)
  }

  /** The rows of a large evaluation are found while they are read, so that memory never has a list of all of them. */
  async function* allDigests(offset: number, atOnce: number): AsyncGenerator<readonly string[]> {
    let page = { limit: atOnce, offset }
    for (let after: string | null = null; ; page = { ...page, offset: 0 }) {
      const some = await digestsOf(page, after)
      if (some.length > 0) yield some
      if (some.length < atOnce) return
      after = some.at(-1) as string
    }
  }

  return {
    count,

    async page({ limit, offset }, atOnce) {
      if (limit === 0) return { total: await count(rows.intersect), digests: [] }
      if (filters.length > 0 || order.length > 0) {
        const found = await allRows<FoundRow>(db, selectCountedPage(db, rows, order, { limit, offset }))
        const isBeyond = found.length === 0 && offset > 0
        const digests = found.map(({ row_digest }) => row_digest)
        return {
          total: isBeyond ? await count(rows.intersect) : (found[0]?.total ?? 0),
          digests: batchesOf(digests, atOnce),
        }
      }
      if (limit === null) return { total: await count(rows.intersect), digests: allDigests(offset, atOnce) }
      const digests = await digestsOf({ limit, offset })
      const isWhole = offset === 0 && digests.length < limit
      const total = isWhole ? digests.length : await count(rows.intersect)
      return { total, digests: batchesOf(digests, atOnce) }
    },

    async sums(intersect) {
      const found = await allRows<StoredSums>(db, selectSums(db, rowsWith(intersect)))
      return found.map(({ evaluation_id, shape, trials, failed, first_row, ...slots }): ShapeSums => {
        const sums = slotNames.map((name) => slots[name] ?? 0)
        return { evaluation_id, shape, trials, failed, first_row, sums }
      })
    },

    async scores() {
      const reading = order[0]?.reading
      if (reading?.kind !== 'score') throw new TypeError('the rows are not sorted by a score')
      return readScores(db, rows, reading.number)
    },
  }
}

const sumColumns = rawSql(slotNames.map((name) => `sum(trial.${name} * 1.0) AS ${name}`).join(', '))

type StoredSums = Omit<ShapeSums, 'sums'> & Record<`v${number}`, number | null>

function selectSums(db: Reader, view: RowsOfView): Sql {
  return sql`SELECT trial.evaluation_id AS evaluation_id, trial.shape AS shape, count(*) AS trials,
      sum(trial.failed) AS failed, min(trial.row_digest) AS first_row, ${sumColumns}
    FROM ${trialTable} WHERE ${allOf([inScope(view, null), ...inView(db, view), db.dialect.trialsCancellable])}
    GROUP BY trial.evaluation_id, trial.shape`
}

async function readScores(db: BoundReader, view: RowsOfView, number: Sql): Promise<ScoreColumns> {
  const rowOf = new Map<string, number>()
  const byEvaluation = new Map<string, Record<'rows' | 'numbers' | 'failed', number[]>>()
  // Numbers that a double cannot hold are not converted to one.
  const trials = db.stream<{ evaluation_id: string; row_digest: string; failed: number; n: number | null }>(
    sql`SELECT trial.evaluation_id AS evaluation_id, trial.row_digest AS row_digest, trial.failed AS failed,
        CASE WHEN abs(${number}) < 1e-100 THEN 0.0 WHEN abs(${number}) <= 1e100
          THEN CAST(${number} AS DOUBLE PRECISION) END AS n
      FROM ${trialTable} WHERE ${allOf([inScope(view, null), ...inView(db, view), db.dialect.trialsCancellable])}
      ORDER BY trial.row_digest`,
    { rows: 1000 },
  )
  for await (const some of trials) {
    for (const { evaluation_id, row_digest, failed, n } of some) {
      const row = rowOf.get(row_digest) ?? rowOf.size
      rowOf.set(row_digest, row)
      const own = byEvaluation.get(evaluation_id) ?? { rows: [], numbers: [], failed: [] }
      byEvaluation.set(evaluation_id, own)
      own.rows.push(row)
      own.numbers.push(n ?? Number.NaN)
      own.failed.push(failed)
    }
  }
  const columns = Array.from(
    byEvaluation,
    ([evaluation, { rows, numbers, failed }]): ScoreColumn => ({
      evaluation,
      rows: Int32Array.from(rows),
      numbers: Float64Array.from(numbers, onAxis),
      failed: Float64Array.from(failed),
    }),
  )
  return { columns, rowCount: rowOf.size }
}
