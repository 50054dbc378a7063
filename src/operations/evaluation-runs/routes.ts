import { projectPath } from '../../domain/fields.ts'
import { answers, jsonLinesOf, refusing } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { sendJsonLines } from '../../http/streamed-answers.ts'
import type { Kind } from '../../storage/evaluations/marked-calls.ts'
import { family, type Operation } from '../parts.ts'
import {
  Deleted,
  deletionOf,
  FinishBody,
  Finished,
  PartList,
  PredictionBody,
  PredictionCreated,
  PredictionPath,
  PredictionRecord,
  RunBody,
  RunCreated,
  RunList,
  RunPath,
  RunRecord,
  ScoreBody,
  ScoreCreated,
  ScorePath,
  ScoreRecord,
  StatusAnswer,
  StatusBody,
} from './contract.ts'
import { deleteMarked, listMarked, readMarked } from './find.ts'
import { createPrediction, finishPrediction } from './predictions.ts'
import { createRun, finishRun } from './runs.ts'
import { scopeOf } from './scope.ts'
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
    params: RunPath,
    record: RunRecord,
    list: RunList,
    listRefusals: refusing('invalid_value'),
    missing: refusing('evaluation_run_not_found'),
    removed: 'evaluation runs and everything in them',
  },
  prediction: {
    path: predictions,
    noun: 'prediction',
    article: 'a',
    tags: ['predictions'],
    id: 'prediction_id',
    params: PredictionPath,
    record: PredictionRecord,
    list: PartList,
    listRefusals: {},
    missing: refusing('prediction_not_found'),
    removed: 'predictions and their trials',
  },
  score: {
    path: scores,
    noun: 'score',
    article: 'a',
    tags: ['scores'],
    id: 'score_id',
    params: ScorePath,
    record: ScoreRecord,
    list: PartList,
    listRefusals: {},
    missing: refusing('score_not_found'),
    removed: 'scores and what they said about their predictions',
  },
} satisfies Record<Kind, unknown>

const asked = refusing('entity_forbidden', 'invalid_request')

/** What can be asked of each kind in the same way. */
function routesOf(kind: Kind): Operation[] {
  const { path, noun, article, tags, id, params, record, list, listRefusals, missing, removed } = kinds[kind]

  const read: Operation = async (app, { db }) => {
    const schema = {
      summary: `Read ${article} ${noun}`,
      tags,
      params,
      response: { 200: record, ...asked, ...missing },
    }
    app.get(`${path}/:${id}`, { schema }, (request) => {
      const { project } = scopeOf(request.caller, request.params)
      return readMarked(db, kind, project, (request.params as Record<string, string>)[id] as string, id)
    })
  }

  const find: Operation = async (app, { db }) => {
    const refusals = { ...asked, ...refusing('query_too_slow', 'queue_full'), ...listRefusals }
    const schema = {
      summary: `List ${noun}s, one JSON text a line`,
      tags,
      params: projectPath,
      querystring: list,
      response: { 200: jsonLinesOf(record), ...refusals },
    }
    app.get(path, { schema }, (request, reply) => {
      const { project } = scopeOf(request.caller, request.params)
      return sendJsonLines(reply, listMarked(db, kind, project, request.query, disconnectSignal(reply)))
    })
  }

  const remove: Operation = async (app, { db }) => {
    const schema = {
      summary: `Delete ${removed}`,
      tags,
      params: projectPath,
      querystring: deletionOf(`${id}s`),
      response: { 200: Deleted, ...asked, ...refusing('too_many_ids') },
    }
    app.delete(path, { schema }, (request) => {
      const { project } = scopeOf(request.caller, request.params)
      return deleteMarked(db, kind, project, request.query[`${id}s`] ?? [], `${id}s`)
    })
  }

  return [read, find, remove]
}

const startRun: Operation = async (app, options) => {
  const schema = {
    summary: 'Begin an evaluation run',
    tags: kinds.run.tags,
    params: projectPath,
    body: RunBody,
    response: answers(RunCreated, 'call_conflict'),
  }
  app.post(runs, { schema }, (request) =>
    createRun(options, scopeOf(request.caller, request.params), request.body),
  )
}

const endRun: Operation = async (app, options) => {
  const schema = {
    summary: 'End an evaluation run with the means of its trials',
    tags: kinds.run.tags,
    params: RunPath,
    body: FinishBody,
    response: answers(Finished, 'evaluation_run_not_found', 'evaluation_run_ended', 'query_too_slow'),
  }
  app.post(`${runs}/:evaluation_run_id/finish`, { schema }, (request, reply) => {
    const scope = scopeOf(request.caller, request.params)
    const { evaluation_run_id } = request.params
    return finishRun(options, scope, evaluation_run_id, request.body, disconnectSignal(reply))
  })
}

const addPrediction: Operation = async (app, options) => {
  const schema = {
    summary: 'Tell what a model answered',
    tags: kinds.prediction.tags,
    params: projectPath,
    body: PredictionBody,
    response: answers(PredictionCreated, 'evaluation_run_not_found', 'call_conflict'),
  }
  app.post(predictions, { schema }, (request) =>
    createPrediction(options, scopeOf(request.caller, request.params), request.body),
  )
}

const endPrediction: Operation = async (app, options) => {
  const schema = {
    summary: 'End the trial of a prediction with its scores; a body is not needed',
    tags: kinds.prediction.tags,
    params: PredictionPath,
    response: answers(Finished, 'prediction_not_found'),
  }
  app.post(`${predictions}/:prediction_id/finish`, { schema }, (request) =>
    finishPrediction(options, scopeOf(request.caller, request.params), request.params.prediction_id),
  )
}

const addScore: Operation = async (app, options) => {
  const schema = {
    summary: 'Score a prediction',
    tags: kinds.score.tags,
    params: projectPath,
    body: ScoreBody,
    response: answers(ScoreCreated, 'invalid_value', 'prediction_not_found', 'call_conflict'),
  }
  app.post(scores, { schema }, (request) =>
    createScore(options, scopeOf(request.caller, request.params), request.body),
  )
}

const status: Operation = async (app, { db }) => {
  const schema = {
    summary: 'How far an evaluation is',
    tags: kinds.run.tags,
    body: StatusBody,
    response: answers(StatusAnswer, 'invalid_value', 'query_too_slow'),
  }
  app.post('/evaluations/status', { schema }, (request, reply) =>
    evaluationStatus(db, request.caller, request.body, disconnectSignal(reply)),
  )
}

export const evaluationRunRoutes = family(
  startRun,
  endRun,
  ...routesOf('run'),
  addPrediction,
  endPrediction,
  ...routesOf('prediction'),
  addScore,
  ...routesOf('score'),
  status,
)
