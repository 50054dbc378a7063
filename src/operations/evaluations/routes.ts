import { type Caller, hasAccess, requireAccess } from '../../domain/callers.ts'
import { projectOf, projectPath } from '../../domain/fields.ts'
import { formatTime, now } from '../../domain/time.ts'
import { sendJsonList } from '../../http/streams/streamed-answers.ts'
import type { Database } from '../../storage/database.ts'
import {
  countEvaluations,
  type EvaluationRoot,
  listEvaluations,
  sumTrials,
  type TrialSums,
} from '../../storage/evaluations/evaluation-list.ts'
import { derivePending, deriveThenOpen } from '../../storage/evaluations/results.ts'
import { family, operation } from '../parts.ts'
import { queryResults } from './results.ts'
import { ResultsAnswer, ResultsBody } from './results-contract.ts'
import { viewScores } from './score-views.ts'
import { refsOf } from './summary.ts'
import { viewOf } from './view.ts'
import {
  defaultListed,
  ListAnswer,
  ListBody,
  RankAnswer,
  RankBody,
  ScoresAnswer,
  ScoresBody,
} from './views-contract.ts'

export const evaluationResultRoutes = family(
  operation('POST', '/v2/:entity/:project/eval_results/query', {
    summary: 'Compare evaluations by rows, trials, scores and summaries',
    tags: ['evaluations'],
    params: projectPath,
    body: ResultsBody,
    answer: ResultsAnswer,
    refusals: ['invalid_value', 'not_available', 'too_many_ids', 'query_too_slow'],
    rule: async ({ db, signal }, { caller, body, params }, reply) => {
      const project = projectOf(params)
      const { rows, others } = await queryResults(db, caller, project, body, signal)
      return sendJsonList(reply, 'rows', rows, others)
    },
  }),
)

/** The evaluations of a project and their number of trials. */
async function viewEvaluations(
  db: Database,
  caller: Caller,
  { project_id: project, limit, offset }: ListBody,
  signal: AbortSignal,
): Promise<ListAnswer> {
  requireAccess(caller, project)
  const time = now()
  await derivePending(db, project, time, signal)
  const page = { limit: limit ?? defaultListed, offset: offset ?? 0 }
  const roots = await listEvaluations(db, project, page, time, signal)
  const ids = roots.map(({ id }) => id)
  const sums = new Map((await sumTrials(db, project, ids, signal)).map((sum) => [sum.evaluation_id, sum]))
  return {
    evaluations: roots.map((root) => shown(root, sums.get(root.id))),
    total: await countEvaluations(db, project, time, signal),
  }
}

function shown(root: EvaluationRoot, sums: TrialSums | undefined): ListAnswer['evaluations'][number] {
  const { ended_at, exception } = root
  return {
    evaluation_call_id: root.id,
    trace_id: root.trace_id,
    display_name: root.display_name,
    ...refsOf(root),
    status: ended_at === null ? 'running' : exception === null ? 'success' : 'error',
    started_at: formatTime(root.started_at),
    ended_at: ended_at === null ? null : formatTime(ended_at),
    row_count: root.row_count,
    trial_count: sums?.trials ?? 0,
    failed_trial_count: sums?.failed ?? 0,
    mean_latency_seconds: sums?.latency ?? null,
    total_tokens: sums?.tokens ?? null,
  }
}

/** The position of a row in an order of rows, and its neighbours. */
async function rankRow(
  db: Database,
  caller: Caller,
  body: RankBody,
  signal: AbortSignal,
): Promise<RankAnswer> {
  const { project_id: project, row_digest: row } = body
  requireAccess(caller, project)
  const view = viewOf(project, body, (other) => hasAccess(caller, other))
  const { rankOf } = await deriveThenOpen(db, view, signal)
  return rankOf(row, body.neighbours ?? 1)
}

const tags = ['evaluations']

export const evaluationViewRoutes = family(
  operation('POST', '/views/evaluations', {
    summary: 'List evaluations, newest first',
    tags,
    body: ListBody,
    answer: ListAnswer,
    refusals: ['query_too_slow'],
    rule: ({ db, signal }, { caller, body }) => viewEvaluations(db, caller, body, signal),
  }),
  operation('POST', '/views/scores', {
    summary: 'Compare the distributions of a score, and its differences row by row',
    tags,
    body: ScoresBody,
    answer: ScoresAnswer,
    refusals: ['invalid_value', 'too_many_ids', 'query_too_slow'],
    rule: ({ db, signal }, { caller, body }) => viewScores(db, caller, body, signal),
  }),
  operation('POST', '/views/rank', {
    summary: 'Find the rank of a row in an order',
    tags,
    body: RankBody,
    answer: RankAnswer,
    refusals: ['invalid_value', 'too_many_ids', 'query_too_slow'],
    rule: ({ db, signal }, { caller, body }) => rankRow(db, caller, body, signal),
  }),
)
