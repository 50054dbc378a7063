import { writeJson } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { isMarked, type Kind, requireMarked } from '../../storage/evaluations/runs.ts'
import { join, listOf, type Sql, sql, trusted } from '../../storage/sql/sql.ts'
import { type CallRow, selectCalls } from '../../storage/tables/calls.ts'
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
  const conditions: Sql[] = []
  const ids = bounded(query.evaluation_run_ids, 'evaluation_run_ids')
  if (ids) conditions.push(sql`calls.id IN (${listOf(ids)})`)
  for (const [field, name] of [
    ['evaluations', 'evaluation'],
    ['models', 'model'],
  ] as const) {
    const refs = bounded(query[field], field)
    if (refs) conditions.push(sql`${weave(db, name)} IN (${oneOf(db, refs)})`)
  }
  return list(db, 'run', project, conditions, query, signal)
}

export function listParts(
  db: Database,
  kind: 'prediction' | 'score',
  project: string,
  query: PartList,
  signal: AbortSignal,
): AsyncIterable<string> {
  const { evaluation_run_id: run } = query
  const conditions = run
    ? [sql`calls.trace_id = ${run}`, sql`${weave(db, 'evaluation_run_id')} = ${db.dialect.text(run)}`]
    : []
  return list(db, kind, project, conditions, query, signal)
}

/** What the ops of each kind have in their name: a look at it spares reading the attributes of all other calls. */
const inName: Record<Kind, string> = { run: 'evaluate', prediction: '.predict', score: '.score' }

/** One JSON text for each, in the order in which they began. */
async function* list(
  db: Database,
  kind: Kind,
  project: string,
  conditions: readonly Sql[],
  { limit, offset }: ListQuery,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { large, of } = records[kind]
  const isNamed = sql`${db.dialect.position(trusted('calls.op_name'), sql`${inName[kind]}`)} > 0`
  const statement = selectCalls(
    db,
    {
      projectId: project,
      conditions: [isNamed, ...conditions, isMarked(db.dialect, kind)],
      order: [trusted('started_at'), trusted('id')],
      limit: limit ?? null,
      offset: offset ?? 0,
    },
    { large: new Set(large), totalStorageSize: false },
    now(),
  )
  for await (const rows of db.stream<CallRow>(statement, { signal })) {
    for (const row of rows) yield writeJson(of(row))
  }
}

function weave({ dialect }: Database, name: string): Sql {
  return dialect.json(trusted('calls.attributes'), ['weave', name]).text
}

function oneOf({ dialect }: Database, values: readonly string[]): Sql {
  return join(
    values.map((value) => dialect.text(value)),
    ', ',
  )
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
