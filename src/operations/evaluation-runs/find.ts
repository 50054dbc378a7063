import { writeJson } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import {
  type Kind,
  type MarkedView,
  requireMarked,
  streamMarked,
} from '../../storage/evaluations/marked-calls.ts'
import type { ListQuery } from '../paging.ts'
import type { PartList, RunList } from './contract.ts'
import { records } from './record.ts'

const mostIds = 1000
const deletedAtOnce = 100

export async function readMarked(db: Database, kind: Kind, project: string, id: string, field: string) {
  return records[kind].of(await requireMarked(db, kind, project, id, field, now()))
}

export function listRuns(
  db: Database,
  project: string,
  query: RunList,
  signal: AbortSignal,
): AsyncIterable<string> {
  const ids = bounded(query.evaluation_run_ids, 'evaluation_run_ids')
  const evaluations = bounded(query.evaluations, 'evaluations')
  const models = bounded(query.models, 'models')
  return list(db, { kind: 'run', project, ids, evaluations, models, ...pageOf(query) }, signal)
}

export function listParts(
  db: Database,
  kind: 'prediction' | 'score',
  project: string,
  query: PartList,
  signal: AbortSignal,
): AsyncIterable<string> {
  return list(db, { kind, project, run: query.evaluation_run_id, ...pageOf(query) }, signal)
}

const pageOf = ({ limit, offset }: ListQuery) => ({ limit: limit ?? null, offset: offset ?? 0 })

/** One JSON text for each. */
async function* list(db: Database, view: MarkedView, signal: AbortSignal): AsyncGenerator<string> {
  const { large, of } = records[view.kind]
  for await (const rows of streamMarked(db, view, large, now(), signal)) {
    for (const row of rows) yield writeJson(of(row))
  }
}

/** No list, or an empty one, is no condition. */
function bounded(values: readonly string[] | undefined, field: string): readonly string[] | undefined {
  if (!values?.length) return undefined
  if (values.length <= mostIds) return values
  const given = `${values.length} entries`
  throw refuse('invalid_value', { field, given, accepted: `at most ${mostIds}` })
}

const deletions = {
  run: { command: 'deleteEvaluationRuns', field: 'evaluation_run_ids' },
  prediction: { command: 'deletePredictions', field: 'prediction_ids' },
  score: { command: 'deleteScores', field: 'score_ids' },
} as const satisfies Record<Kind, unknown>

/** A hundred in one transaction: each takes a turn, and a server has a bounded number of those. */
export async function deleteMarked(db: Database, kind: Kind, project_id: string, given: readonly string[]) {
  const { command, field } = deletions[kind]
  const ids = [...new Set(given)]
  if (ids.length > mostIds) throw refuse('too_many_ids', { field, given: ids.length, limit: mostIds })
  let num_deleted = 0
  for (let from = 0; from < ids.length; from += deletedAtOnce) {
    const some = ids.slice(from, from + deletedAtOnce)
    num_deleted += await db.write(command, { project_id, ids: some, now: now() })
  }
  return { num_deleted }
}
