import type { z } from 'zod'
import { projectPath } from '../../domain/fields.ts'
import { type Routes, recordRefusals, refusing } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { sendJsonLines } from '../../http/streamed-answers.ts'
import type { Kind } from '../../storage/evaluations/marked-calls.ts'
import { family } from '../parts.ts'
import {
  Deleted,
  FinishBody,
  Finished,
  PartList,
  PredictionBody,
  PredictionCreated,
  PredictionDeletion,
  PredictionPath,
  PredictionRecord,
  RunBody,
  RunCreated,
  RunDeletion,
  RunList,
  RunPath,
  RunRecord,
  ScoreBody,
  ScoreCreated,
  ScoreDeletion,
  ScorePath,
  ScoreRecord,
  StatusAnswer,
  StatusBody,
} from './contract.ts'
import { deleteMarked, listParts, listRuns, readMarked } from './find.ts'
import { type EvaluationRuns, placeOf } from './place.ts'
import { createPrediction, finishPrediction } from './predictions.ts'
import { createRun, finishRun } from './runs.ts'
import { createScore } from './scores.ts'
import { evaluationStatus } from './status.ts'

type RoutePlugin = Routes<EvaluationRuns>

const asked = refusing('entity_forbidden', 'invalid_request')
const listed = refusing('entity_forbidden', 'invalid_request', 'query_too_slow', 'queue_full')
const jsonLines = (schema: z.ZodType) => ({
  200: { description: 'JSON Lines', content: { 'application/jsonl': { schema } } },
})

const runs = '/v2/:entity/:project/evaluation_runs'
const predictions = '/v2/:entity/:project/predictions'
const scores = '/v2/:entity/:project/scores'
const tagsOf: Record<Kind, string[]> = {
  run: ['evaluation runs'],
  prediction: ['predictions'],
  score: ['scores'],
}

const startRun: RoutePlugin = async (app, options) => {
  const schema = {
    summary: 'Begin an evaluation run',
    tags: tagsOf.run,
    params: projectPath,
    body: RunBody,
    response: { 200: RunCreated, ...recordRefusals, ...refusing('call_conflict') },
  }
  app.post(runs, { schema }, (request) =>
    createRun(options, placeOf(request.caller, request.params), request.body),
  )
}

const endRun: RoutePlugin = async (app, options) => {
  const schema = {
    summary: 'End an evaluation run with the means of its trials',
    tags: tagsOf.run,
    params: RunPath,
    body: FinishBody,
    response: {
      200: Finished,
      ...recordRefusals,
      ...refusing('evaluation_run_not_found', 'evaluation_run_ended', 'query_too_slow'),
    },
  }
  app.post(`${runs}/:evaluation_run_id/finish`, { schema }, (request, reply) => {
    const place = placeOf(request.caller, request.params)
    const { evaluation_run_id } = request.params
    return finishRun(options, place, evaluation_run_id, request.body, disconnectSignal(reply))
  })
}

const readRun: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Read an evaluation run',
    tags: tagsOf.run,
    params: RunPath,
    response: { 200: RunRecord, ...asked, ...refusing('evaluation_run_not_found') },
  }
  app.get(`${runs}/:evaluation_run_id`, { schema }, (request) => {
    const { project } = placeOf(request.caller, request.params)
    return readMarked(db, 'run', project, request.params.evaluation_run_id, 'evaluation_run_id')
  })
}

const findRuns: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'List evaluation runs, one JSON text a line',
    tags: tagsOf.run,
    params: projectPath,
    querystring: RunList,
    response: { ...jsonLines(RunRecord), ...listed, ...refusing('invalid_value') },
  }
  app.get(runs, { schema }, (request, reply) => {
    const { project } = placeOf(request.caller, request.params)
    return sendJsonLines(reply, listRuns(db, project, request.query, disconnectSignal(reply)))
  })
}

const removeRuns: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Delete evaluation runs and everything in them',
    tags: tagsOf.run,
    params: projectPath,
    querystring: RunDeletion,
    response: { 200: Deleted, ...asked, ...refusing('too_many_ids') },
  }
  app.delete(runs, { schema }, (request) => {
    const { project } = placeOf(request.caller, request.params)
    return deleteMarked(db, 'run', project, request.query.evaluation_run_ids)
  })
}

const addPrediction: RoutePlugin = async (app, options) => {
  const schema = {
    summary: 'Tell what a model answered',
    tags: tagsOf.prediction,
    params: projectPath,
    body: PredictionBody,
    response: {
      200: PredictionCreated,
      ...recordRefusals,
      ...refusing('evaluation_run_not_found', 'call_conflict'),
    },
  }
  app.post(predictions, { schema }, (request) =>
    createPrediction(options, placeOf(request.caller, request.params), request.body),
  )
}

const endPrediction: RoutePlugin = async (app, options) => {
  const schema = {
    summary: 'End the trial of a prediction with its scores; a body is not needed',
    tags: tagsOf.prediction,
    params: PredictionPath,
    response: { 200: Finished, ...recordRefusals, ...refusing('prediction_not_found') },
  }
  app.post(`${predictions}/:prediction_id/finish`, { schema }, (request) =>
    finishPrediction(options, placeOf(request.caller, request.params), request.params.prediction_id),
  )
}

const readPrediction: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Read a prediction',
    tags: tagsOf.prediction,
    params: PredictionPath,
    response: { 200: PredictionRecord, ...asked, ...refusing('prediction_not_found') },
  }
  app.get(`${predictions}/:prediction_id`, { schema }, (request) => {
    const { project } = placeOf(request.caller, request.params)
    return readMarked(db, 'prediction', project, request.params.prediction_id, 'prediction_id')
  })
}

const findPredictions: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'List predictions, one JSON text a line',
    tags: tagsOf.prediction,
    params: projectPath,
    querystring: PartList,
    response: { ...jsonLines(PredictionRecord), ...listed },
  }
  app.get(predictions, { schema }, (request, reply) => {
    const { project } = placeOf(request.caller, request.params)
    return sendJsonLines(reply, listParts(db, 'prediction', project, request.query, disconnectSignal(reply)))
  })
}

const removePredictions: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Delete predictions and their trials',
    tags: tagsOf.prediction,
    params: projectPath,
    querystring: PredictionDeletion,
    response: { 200: Deleted, ...asked, ...refusing('too_many_ids') },
  }
  app.delete(predictions, { schema }, (request) => {
    const { project } = placeOf(request.caller, request.params)
    return deleteMarked(db, 'prediction', project, request.query.prediction_ids)
  })
}

const addScore: RoutePlugin = async (app, options) => {
  const schema = {
    summary: 'Score a prediction',
    tags: tagsOf.score,
    params: projectPath,
    body: ScoreBody,
    response: {
      200: ScoreCreated,
      ...recordRefusals,
      ...refusing('invalid_value', 'prediction_not_found', 'call_conflict'),
    },
  }
  app.post(scores, { schema }, (request) =>
    createScore(options, placeOf(request.caller, request.params), request.body),
  )
}

const readScore: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Read a score',
    tags: tagsOf.score,
    params: ScorePath,
    response: { 200: ScoreRecord, ...asked, ...refusing('score_not_found') },
  }
  app.get(`${scores}/:score_id`, { schema }, (request) => {
    const { project } = placeOf(request.caller, request.params)
    return readMarked(db, 'score', project, request.params.score_id, 'score_id')
  })
}

const findScores: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'List scores, one JSON text a line',
    tags: tagsOf.score,
    params: projectPath,
    querystring: PartList,
    response: { ...jsonLines(ScoreRecord), ...listed },
  }
  app.get(scores, { schema }, (request, reply) => {
    const { project } = placeOf(request.caller, request.params)
    return sendJsonLines(reply, listParts(db, 'score', project, request.query, disconnectSignal(reply)))
  })
}

const removeScores: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Delete scores and what they said about their predictions',
    tags: tagsOf.score,
    params: projectPath,
    querystring: ScoreDeletion,
    response: { 200: Deleted, ...asked, ...refusing('too_many_ids') },
  }
  app.delete(scores, { schema }, (request) => {
    const { project } = placeOf(request.caller, request.params)
    return deleteMarked(db, 'score', project, request.query.score_ids)
  })
}

const status: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'How far an evaluation is',
    tags: tagsOf.run,
    body: StatusBody,
    response: { 200: StatusAnswer, ...recordRefusals, ...refusing('invalid_value', 'query_too_slow') },
  }
  app.post('/evaluations/status', { schema }, (request, reply) =>
    evaluationStatus(db, request.caller, request.body, disconnectSignal(reply)),
  )
}

export const evaluationRunRoutes = family(
  startRun,
  endRun,
  readRun,
  findRuns,
  removeRuns,
  addPrediction,
  endPrediction,
  readPrediction,
  findPredictions,
  removePredictions,
  addScore,
  readScore,
  findScores,
  removeScores,
  status,
)
