import { projectOf, projectPath } from '../../domain/fields.ts'
import { sendJsonList } from '../../http/streams/streamed-answers.ts'
import { family, operation } from '../parts.ts'
import { queryResults } from './results.ts'
import { ResultsAnswer, ResultsBody } from './results-contract.ts'

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
