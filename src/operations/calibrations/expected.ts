import { createYieldToLoop } from '../../../packages/waiting/index.ts'
import { hasAccess } from '../../domain/callers.ts'
import { valueAt } from '../../domain/expressions/json-value.ts'
import { splitPath } from '../../domain/expressions/path.ts'
import { refuse } from '../../domain/refusals.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { deriveThenOpen, type Results, type TrialRow } from '../../storage/evaluations/results.ts'
import { hasRow, rawRowsOf } from '../evaluations/raw-rows.ts'
import { viewOf } from '../evaluations/view.ts'
import type { Scope } from '../scope.ts'
import type { LabelsBody } from './contract.ts'

/** More are not read. */
const maxTrials = 20_000

/** What the row of a prediction has in a column, as JSON; undefined if it has none. `calls` are its own and its trial's. */
interface ExpectedValue {
  calls: string[]
  value: string | undefined
}

/**
 * What the datasets of these runs say is right, for each prediction; of the first 20,000. A run that is not in the
 * project is refused before anything is read.
 */
export async function* expectedValues(
  db: BoundDatabase,
  { caller, project }: Scope,
  { evaluation_run_ids, column }: NonNullable<LabelsBody['expected']>,
): AsyncGenerator<ExpectedValue> {
  const view = viewOf(project, { evaluation_run_ids }, (other) => hasAccess(caller, other))
  const results = await deriveThenOpen(db, view)
  for (const [index, id] of evaluation_run_ids.entries()) {
    if (results.roots.has(id)) continue
    const field = `labels.expected.evaluation_run_ids.${index}`
    throw refuse('evaluation_run_not_found', { field, run: id, project })
  }
  const path = splitPath(column)
  const pause = createYieldToLoop(db.signal)
  let read = 0
  for await (const digests of (await results.page()).digests) {
    const trials = await trialsOf(results, digests)
    const firsts = new Map(trials.filter(hasRow).map((trial) => [trial.row_digest, trial]))
    const named = { db, caller, project, resolve: true, results, warn: () => {} }
    const rows = await rawRowsOf(named, [...firsts.values()])
    for (const { row_digest, trial_id, predict_call_id } of trials) {
      const row = rows.get(row_digest)?.text
      const calls = predict_call_id === null ? [trial_id] : [trial_id, predict_call_id]
      yield { calls, value: row === undefined ? undefined : valueAt(row, path) }
      const wait = pause()
      if (wait) await wait
    }
    read += trials.length
    if (read >= maxTrials) return
  }
}

async function trialsOf(results: Results, digests: readonly string[]): Promise<TrialRow[]> {
  const trials: TrialRow[] = []
  for await (const some of results.trialsOf(digests)) trials.push(...some)
  return trials
}
