import { batchesOf } from '../../domain/batches.ts'
import { byCaller } from '../../domain/callers.ts'
import { writeJson } from '../../domain/json/text.ts'
import { requireFew, wrong } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import { viewOf } from '../../domain/view.ts'
import type { BoundDatabase, Database } from '../../storage/database.ts'
import { type Kind, requireMarked, streamMarked } from '../../storage/evaluations/marked-calls.ts'
import type { Scope } from '../scope.ts'
import type { PartList, RunList } from './contract.ts'
import { records } from './record.ts'

const maxIds = 1000
const deletedAtOnce = 100

export async function readMarked(db: Database, kind: Kind, project: string, id: string, field: string) {
  return records[kind].of(await requireMarked(db, kind, project, id, field, now()))
}

/** One JSON text for each. */
export async function* listMarked(
  db: BoundDatabase,
  kind: Kind,
  project: string,
  { evaluation_run_id, ...query }: RunList & PartList,
): AsyncGenerator<string> {
  const view = {
    ...viewOf({ ...query, project_id: project }),
    kind,
    ids: bounded(query.evaluation_run_ids, 'evaluation_run_ids'),
    evaluations: bounded(query.evaluations, 'evaluations'),
    models: bounded(query.models, 'models'),
    run: evaluation_run_id,
  }
  const { large, of } = records[kind]
  for await (const rows of streamMarked(db, view, large, now())) {
    for (const row of rows) yield writeJson(of(row))
  }
}

/** A missing or empty list is no condition. */
function bounded(values: readonly string[] | undefined, field: string): readonly string[] | undefined {
  if (!values?.length) return undefined
  if (values.length <= maxIds) return values
  const entryCount = `${values.length} entries`
  throw wrong(field, entryCount, `at most ${maxIds}`)
}

const deletions = {
  run: 'deleteEvaluationRuns',
  prediction: 'deletePredictions',
  score: 'deleteScores',
} as const satisfies Record<Kind, unknown>

/** Deletes a hundred in one transaction, because each transaction waits in a bounded queue. */
export async function deleteMarked(
  db: Database,
  kind: Kind,
  { caller, project: project_id }: Scope,
  namedIds: readonly string[],
  field: string,
) {
  const ids = [...new Set(namedIds)]
  requireFew(field, ids, maxIds)
  let num_deleted = 0
  for (const some of batchesOf(ids, deletedAtOnce)) {
    num_deleted += await db.write(deletions[kind], {
      project_id,
      ids: some,
      now: now(),
      by: byCaller(caller),
    })
  }
  return { num_deleted }
}
