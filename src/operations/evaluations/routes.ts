import { projectOf, projectPath } from '../../domain/fields.ts'
import { sendJsonList } from '../../http/streams/streamed-answers.ts'
import { family, operationsUnder } from '../parts.ts'
import { viewEvaluations } from './evaluation-list.ts'
import { queryResults, rankRow } from './results.ts'
import { ResultsAnswer, ResultsBody } from './results-contract.ts'
import { viewScores } from './score-views.ts'
import { ListAnswer, ListBody, RankAnswer, RankBody, ScoresAnswer, ScoresBody } from './views-contract.ts'

const operation = operationsUnder('evaluations')

export const evaluationRoutes = family(
  operation('POST', '/v2/:entity/:project/eval_results/query', {
    right: 'read',
    summary: 'Compare evaluations by rows, trials, scores and summaries',
    params: projectPath,
    body: ResultsBody,
    answer: ResultsAnswer,
    refusals: ['invalid_value', 'not_available', 'too_many_ids', 'query_too_slow'],
    rule: async ({ db }, { caller, body, params }, reply) => {
      const project = projectOf(params)
      const { rows, others } = await queryResults(db, caller, project, body)
      return sendJsonList(reply, 'rows', rows, others)
    },
  }),
  operation('POST', '/views/evaluations', {
    right: 'read',
    summary: 'List evaluations, newest first',
    body: ListBody,
    answer: ListAnswer,
    refusals: ['query_too_slow'],
    rule: ({ db }, { caller, body }) => viewEvaluations(db, caller, body),
  }),
  operation('POST', '/views/scores', {
    right: 'read',
    summary: 'Compare the distributions of a score, and its differences row by row',
    body: ScoresBody,
    answer: ScoresAnswer,
    refusals: ['invalid_value', 'too_many_ids', 'query_too_slow'],
    rule: ({ db }, { caller, body }) => viewScores(db, caller, body),
  }),
  operation('POST', '/views/rank', {
    right: 'read',
    summary: 'Find the rank of a row in an order',
    body: RankBody,
    answer: RankAnswer,
    refusals: ['invalid_value', 'too_many_ids', 'query_too_slow'],
    rule: ({ db }, { caller, body }) => rankRow(db, caller, body),
  }),
)
