import { projectOf, projectPath } from '../../domain/fields.ts'
import { answers } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { sendJsonList } from '../../http/streamed-answers.ts'
import { family, type Operation } from '../parts.ts'
import { queryResults } from './results.ts'
import { ResultsAnswer, ResultsBody } from './results-contract.ts'

const query: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Compare evaluations: rows, trials, scores and what they add up to',
    tags: ['evaluations'],
    params: projectPath,
    body: ResultsBody,
    response: answers(ResultsAnswer, 'invalid_value', 'too_many_ids', 'query_too_slow'),
  }
  app.post('/v2/:entity/:project/eval_results/query', { schema }, async (request, reply) => {
    const project = projectOf(request.params)
    const signal = disconnectSignal(reply)
    const { rows, others } = await queryResults(db, request.caller, project, request.body, signal)
    return sendJsonList(reply, 'rows', rows, others)
  })
}

export const evaluationResultRoutes = family(query)
