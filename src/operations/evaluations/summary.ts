import { valueAt } from '../../domain/expressions/json-value.ts'
import { formatTime } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import {
  type EvaluationCounts,
  type LeafStats,
  type ResultsView,
  type RootRow,
  selectEvaluations,
  selectLeafStats,
} from '../../storage/evaluation-results.ts'
import type { Sql } from '../../storage/sql.ts'
import type { EvaluationSummary } from './results-contract.ts'

/** One entry for each evaluation that has a trial in the view, as they first appear over the rows in their order. */
export async function summaries(
  db: Database,
  view: ResultsView,
  roots: ReadonlyMap<string, RootRow>,
  signal: AbortSignal,
): Promise<EvaluationSummary[]> {
  const counts = await rowsOf<EvaluationCounts>(db, selectEvaluations(db, view), signal)
  const stats = Map.groupBy(
    await rowsOf<LeafStats>(db, selectLeafStats(db, view), signal),
    ({ evaluation_id }) => evaluation_id,
  )
  return counts.toSorted(byAppearance).map((count) => {
    const root = roots.get(count.evaluation_id)
    return {
      evaluation_call_id: count.evaluation_id,
      display_name: root?.display_name ?? null,
      evaluation_ref: refOf(root, 'self') ?? refOf(root, 'this'),
      model_ref: refOf(root, 'model'),
      scorer_stats: (stats.get(count.evaluation_id) ?? []).map((leaf) => scorerStats(leaf, count)),
      started_at: root ? formatTime(root.started_at) : null,
      trace_id: root?.trace_id ?? null,
      trial_count: count.trials,
    }
  })
}

async function rowsOf<T>(db: Database, query: Sql, signal: AbortSignal): Promise<T[]> {
  const rows: T[] = []
  for await (const chunk of db.stream<T>(query, { signal })) rows.push(...chunk)
  return rows
}

function byAppearance(a: EvaluationCounts, b: EvaluationCounts): number {
  if (a.first_row !== b.first_row) return a.first_row < b.first_row ? -1 : 1
  return a.first_trial < b.first_trial ? -1 : 1
}

function refOf(root: RootRow | undefined, name: string): string | null {
  const json = root?.inputs ? valueAt(root.inputs, [name]) : undefined
  return json?.startsWith('"') ? (JSON.parse(json) as string) : null
}

function scorerStats(leaf: LeafStats, { trials, failed }: EvaluationCounts) {
  const { leaves, known, passed, numbers } = leaf
  return {
    scorer_key: leaf.scorer,
    path: leaf.path === '' ? null : leaf.path.slice(1),
    value_type: valueType(leaf),
    trial_count: leaves,
    numeric_count: numbers,
    numeric_mean: numbers > 0 && leaf.mean !== null && Number.isFinite(leaf.mean) ? leaf.mean : null,
    pass_known_count: known,
    pass_true_count: passed,
    pass_rate: known > 0 ? passed / known : null,
    pass_signal_coverage: known / leaves,
    missing_trial_count: Math.max(0, trials - leaves),
    failed_trial_count: failed,
  }
}

function valueType({ known, numbers }: LeafStats): 'binary' | 'continuous' | 'text' {
  if (known > 0) return 'binary'
  return numbers > 0 ? 'continuous' : 'text'
}
