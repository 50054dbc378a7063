import { search, setSearch } from '../../router.ts'
import type { Sort } from '../../server/calls.ts'
import type { EvaluationRow, EvaluationSummary, RunCost } from '../../server/evaluations.ts'
import { refName } from '../../value/ref.ts'
import { fieldOf, scoreName, shownMean } from '../../value/scores.ts'

/** Scores with a column of their own, unless others are chosen; a comparison shows all scores. */
const usualColumns = 4

/** In the address, where no score has a column. */
const noScores = '-'

/** What is known of a run. */
export interface Known {
  row: EvaluationRow
  summary: EvaluationSummary | undefined
  cost: RunCost | undefined
}

/** The figures that every run has, by the head of their column. */
export const figures: Record<string, (known: Known) => number | null | undefined> = {
  Trials: ({ row }) => row.trial_count,
  Failed: ({ row }) => row.failed_trial_count,
  Latency: ({ row }) => row.mean_latency_seconds,
  Tokens: ({ row }) => row.total_tokens,
  Cost: ({ cost }) => cost?.cost,
  Started: ({ row }) => Date.parse(row.started_at),
}

/** What the address says of the list: its scores, its order, the runs that it shows. */
export function askedOrder(common: readonly string[]) {
  const [chosen, sort] = [search.value.get('scores'), search.value.get('sort')]
  const [, field = 'Started', direction = 'desc'] = /^(.+)\.(asc|desc)$/.exec(sort ?? '') ?? []
  return {
    scores:
      chosen === null
        ? common.slice(0, usualColumns)
        : chosen.split('\n').filter((field) => field !== noScores),
    sort: { field, direction } as Sort,
    wanted: search.value.get('named') ?? '',
  }
}

export const nameOf = (row: EvaluationRow): string =>
  row.display_name ?? (refName(row.model_ref) || row.evaluation_call_id)

/** A figure, or the mean of a score; not a number where a run has none. */
export function figureOf(known: Known, field: string): number {
  const stats = known.summary?.scorer_stats.find((score) => fieldOf(score) === field)
  return figures[field]?.(known) ?? (stats && shownMean(stats)?.value) ?? Number.NaN
}

/** By a figure or the mean of a score; runs without it come last. */
export function inOrder(runs: readonly Known[], { field, direction }: Sort): Known[] {
  const sign = direction === 'asc' ? 1 : -1
  const values = new Map(runs.map((known) => [known, figureOf(known, field)]))
  return runs.toSorted((first, other) => {
    const [a = 0, b = 0] = [values.get(first), values.get(other)]
    return Number.isNaN(a) || Number.isNaN(b)
      ? Number(Number.isNaN(a)) - Number(Number.isNaN(b))
      : sign * (a - b)
  })
}

/** The head of a column, which sorts by it: first the largest. */
export function FigureHead({ field, sort }: { field: string; sort: Sort }) {
  const isSorted = field === sort.field
  const isUp = isSorted && sort.direction === 'asc'
  return (
    <th
      scope="col"
      class="number"
      title={field}
      aria-sort={isSorted ? (isUp ? 'ascending' : 'descending') : undefined}
    >
      <button
        type="button"
        class="quiet"
        onClick={() => setSearch({ sort: `${field}.${isSorted && !isUp ? 'asc' : 'desc'}` })}
      >
        {scoreName(field)}
        {isSorted && <span aria-hidden="true">{isUp ? '↑' : '↓'}</span>}
      </button>
    </th>
  )
}

/** Which scores have a column. */
export function ScoreChooser({ common, scores }: { common: readonly string[]; scores: readonly string[] }) {
  return (
    <details class="chooser">
      <summary class="button">Scores</summary>
      <ul class="chooser-list">
        {[...new Set([...common, ...scores])].map((field) => (
          <li key={field}>
            <label class="check" title={field}>
              <input
                type="checkbox"
                checked={scores.includes(field)}
                onChange={() =>
                  setSearch({
                    scores:
                      (scores.includes(field)
                        ? scores.filter((other) => other !== field)
                        : [...scores, field]
                      ).join('\n') || noScores,
                  })
                }
              />
              {scoreName(field)}
            </label>
          </li>
        ))}
      </ul>
    </details>
  )
}
