import { projectPath } from '../../domain/fields.ts'
import { jsonLinesOf } from '../../http/contracts.ts'
import { sendJsonLines } from '../../http/streams/streamed-answers.ts'
import type { Kind } from '../../storage/evaluations/marked-calls.ts'
import { family, type Operation, operation } from '../parts.ts'
import { scopeOf } from '../scope.ts'
import * as contract from './contract.ts'
import { deleteMarked, listMarked, readMarked } from './find.ts'
import { createPrediction, finishPrediction } from './predictions.ts'
import { createRun, finishRun } from './runs.ts'
import { createScore } from './scores.ts'
import { evaluationStatus } from './status.ts'

const runs = '/v2/:entity/:project/evaluation_runs'
const predictions = '/v2/:entity/:project/predictions'
const scores = '/v2/:entity/:project/scores'

const kinds = {
  run: {
    path: runs,
    noun: 'evaluation run',
    article: 'an',
    tags: ['evaluation runs'],
    id: 'evaluation_run_id',
    params: contract.RunPath,
    record: contract.RunRecord,
    list: contract.RunList,
    listRefusals: ['invalid_value'],
    missing: 'evaluation_run_not_found',
    removed: 'evaluation runs and everything in them',
  },
  prediction: {
    path: predictions,
    noun: 'prediction',
    article: 'a',
    tags: ['predictions'],
    id: 'prediction_id',
    params: contract.PredictionPath,
    record: contract.PredictionRecord,
    list: contract.PartList,
    listRefusals: [],
    missing: 'prediction_not_found',
    removed: 'predictions and their trials',
  },
  score: {
    path: scores,
    noun: 'score',
    article: 'a',
    tags: ['scores'],
    id: 'score_id',
    params: contract.ScorePath,
    record: contract.ScoreRecord,
    list: contract.PartList,
    listRefusals: [],
    missing: 'score_not_found',
    removed: 'scores and their feedback on predictions',
  },
} as const satisfies Record<Kind, unknown>

/** The operations that all kinds have in common. */
function routesOf(kind: Kind): Operation[] {
  const { path, noun, article, tags, id, params, record, list, listRefusals, missing, removed } = kinds[kind]

  return [
    operation('GET', `${path}/:${id}`, {
      right: 'read',
      summary: `Read ${article} ${noun}`,
      tags,
      params,
      answer: record,
      refusals: [missing],
      rule: ({ db }, { caller, params }) => {
        const { project } = scopeOf(caller, params)
        return readMarked(db, kind, project, (params as Record<string, string>)[id] as string, id)
      },
    }),
    operation('GET', path, {
      right: 'read',
      summary: `List ${noun}s, as JSON Lines`,
      tags,
      params: projectPath,
      querystring: list,
      answer: jsonLinesOf(record),
      refusals: ['query_too_slow', 'queue_full', ...listRefusals],
      rule: ({ db }, { caller, params, query }, reply) => {
        const { project } = scopeOf(caller, params)
        return sendJsonLines(reply, listMarked(db, kind, project, query))
      },
    }),
    operation('DELETE', path, {
      right: 'write',
      summary: `Delete ${removed}`,
      tags,
      params: projectPath,
      querystring: contract.deletionOf(`${id}s`),
      answer: contract.Deleted,
      refusals: ['too_many_ids'],
      rule: ({ db }, { caller, params, query }) => {
        return deleteMarked(db, kind, scopeOf(caller, params), query[`${id}s`] ?? [], `${id}s`)
      },
    }),
  ]
}

export const evaluationRunRoutes = family(
  operation('POST', runs, {
    right: 'write_calls',
    summary: 'Start an evaluation run',
    tags: kinds.run.tags,
    params: projectPath,
    body: contract.RunBody,
    answer: contract.RunCreated,
    refusals: ['call_conflict'],
    rule: (options, { caller, body, params }) => createRun(options, scopeOf(caller, params), body),
  }),
  operation('POST', `${runs}/:evaluation_run_id/finish`, {
    right: 'write_calls',
    summary: 'Finish an evaluation run with the means of its trials',
    tags: kinds.run.tags,
    params: contract.RunPath,
    body: contract.FinishBody,
    answer: contract.Finished,
    refusals: ['evaluation_run_not_found', 'evaluation_run_ended', 'query_too_slow'],
    rule: (options, { caller, body, params }) => {
      const scope = scopeOf(caller, params)
      const { evaluation_run_id } = params
      return finishRun(options, scope, evaluation_run_id, body, options.signal)
    },
  }),
  ...routesOf('run'),
  operation('POST', predictions, {
    right: 'write_calls',
    summary: 'Create a prediction',
    tags: kinds.prediction.tags,
    params: projectPath,
    body: contract.PredictionBody,
    answer: contract.PredictionCreated,
    refusals: ['evaluation_run_not_found', 'call_conflict'],
    rule: (options, { caller, body, params }) => createPrediction(options, scopeOf(caller, params), body),
  }),
  operation('POST', `${predictions}/:prediction_id/finish`, {
    right: 'write_calls',
    summary: 'Finish the trial of a prediction with its scores; needs no body',
    tags: kinds.prediction.tags,
    params: contract.PredictionPath,
    answer: contract.Finished,
    refusals: ['prediction_not_found'],
    rule: (options, { caller, params }) =>
      finishPrediction(options, scopeOf(caller, params), params.prediction_id),
  }),
  ...routesOf('prediction'),
  operation('POST', scores, {
    right: 'write_calls',
    summary: 'Score a prediction',
    tags: kinds.score.tags,
    params: projectPath,
    body: contract.ScoreBody,
    answer: contract.ScoreCreated,
    refusals: ['invalid_value', 'prediction_not_found', 'call_conflict'],
    rule: (options, { caller, body, params }) => createScore(options, scopeOf(caller, params), body),
  }),
  ...routesOf('score'),
  operation('POST', '/evaluations/status', {
    right: 'read',
    summary: 'Read the progress of an evaluation',
    tags: kinds.run.tags,
    body: contract.StatusBody,
    answer: contract.StatusAnswer,
    refusals: ['invalid_value', 'query_too_slow'],
    rule: ({ db }, { caller, body }) => evaluationStatus(db, caller, body),
  }),
)
