import { signal } from '@preact/signals'
import {
  type EvaluationRow,
  type EvaluationSummary,
  type RunCost,
  readCosts,
  readEvaluations,
  readSummary,
} from '../../server/evaluations.ts'
import { guardedReads } from '../../server/guarded-reads.ts'
import { fieldOf } from '../../value/scores.ts'

const pageSize = 50

/** The evaluations of a project: each call of `more` reads further ones. At first at least `wanted` are read. */
export function createRuns(project: string, first = 0) {
  let wanted = first
  const rows = signal<readonly EvaluationRow[] | undefined>(undefined)
  const total = signal(0)
  const summaries = signal<ReadonlyMap<string, EvaluationSummary>>(new Map())
  const costs = signal<ReadonlyMap<string, RunCost>>(new Map())
  const { error, closing, closed, guarded } = guardedReads()

  const isShort = () => (rows.value?.length ?? 0) < Math.min(wanted, total.value)

  /** Runs that are shown, but whose figures are not read yet. */
  let owed: readonly string[] = []

  async function readMore(): Promise<void> {
    const known = rows.value ?? []
    const page = await readEvaluations(project, { offset: known.length, limit: pageSize }, closed)
    error.value = undefined
    rows.value = [...known, ...page.evaluations]
    total.value = page.total
    owed = [...owed, ...page.evaluations.map(({ evaluation_call_id }) => evaluation_call_id)]
    await readFigures()
    if (isShort()) await readMore()
  }

  async function readFigures(): Promise<void> {
    const ids = owed
    if (ids.length === 0) return
    const view = { project, ids, filters: [], intersect: false }
    const [{ summary }, found] = await Promise.all([
      readSummary(view, closed),
      readCosts(project, ids, closed),
    ])
    error.value = undefined
    owed = owed.filter((id) => !ids.includes(id))
    summaries.value = new Map([
      ...summaries.value,
      ...summary.evaluations.map((one): [string, EvaluationSummary] => [one.evaluation_call_id, one]),
    ])
    costs.value = new Map([...costs.value, ...found])
  }

  let reading: Promise<void> | undefined
  const more = () => {
    reading ??= guarded(readMore).finally(() => {
      reading = undefined
    })
    return reading
  }
  void more()
  return {
    ...{ rows, isShort, total, summaries, costs, error, more },
    /** Repeats only the request that failed. */
    retry: () => guarded(owed.length > 0 ? readFigures : readMore),
    all: () => {
      wanted = Number.POSITIVE_INFINITY
      return more()
    },
    close: () => closing.abort(),
  }
}

/** The scores that most evaluations have, the most common first. */
export function commonScores(summaries: Iterable<EvaluationSummary>): string[] {
  const counts = new Map<string, number>()
  for (const { scorer_stats } of summaries) {
    for (const stats of scorer_stats) {
      if (stats.value_type !== 'text') counts.set(fieldOf(stats), (counts.get(fieldOf(stats)) ?? 0) + 1)
    }
  }
  return [...counts].toSorted(([, a], [, b]) => b - a).map(([field]) => field)
}
