import { type Caller, requireAccess } from '../../domain/callers.ts'
import { now } from '../../domain/time.ts'
import { requireMarked } from '../../storage/evaluations/marked-calls.ts'
import { family, operationsUnder } from '../parts.ts'
import { type Scope, scopeOf } from '../scope.ts'
import {
  EvaluateModelBody,
  Evaluating,
  ProjectPath,
  RescoreBody,
  Rescoring,
  Resumed,
  RunPath,
  ScoreCallsBody,
  Scoring,
  StartBody,
  Started,
  Stopped,
} from './contract.ts'
import { evaluateModel } from './evaluate-model.ts'
import { rescoreRun } from './rescore.ts'
import { resumeRun } from './resume.ts'
import { scoreCalls } from './scored-call.ts'
import { startRuns } from './start.ts'

const runs = '/v2/:entity/:project/evaluation_runs'
const operation = operationsUnder('evaluation runs')

const ofRuns = [
  ...(['scope_forbidden', 'invalid_value', 'object_not_found'] as const),
  ...(['too_many_served_runs', 'query_too_slow'] as const),
]
/** Of what has named scorers score. */
const ofScorers = [
  ...(['scope_forbidden', 'invalid_value', 'object_not_found', 'scorer_not_runnable'] as const),
  ...(['model_not_found', 'model_not_ready', 'model_lacks', 'too_many_served_runs'] as const),
]

/** What the caller may do in the project that the body names. */
function scopeIn({ caller, body }: { caller: Caller; body: { project_id: string } }): Scope {
  requireAccess(caller, body.project_id)
  return { caller, project: body.project_id }
}

export const servedRunRoutes = family(
  operation('POST', `${runs}/serve`, {
    right: 'infer',
    summary: 'Have the server ask a model about every row of a dataset and score the answers',
    params: ProjectPath,
    body: StartBody,
    answer: Started,
    refusals: [...ofRuns, 'class_conflict', 'scorer_not_runnable'],
    rule: (services, { caller, body, params }) =>
      startRuns(services, scopeOf(caller, params), body, services.signal),
  }),
  operation('POST', `${runs}/:evaluation_run_id/stop`, {
    right: 'infer',
    summary: 'Stop an evaluation run that the server carries out; its trials are kept',
    params: RunPath,
    answer: Stopped,
    refusals: ['evaluation_run_not_found'],
    async rule({ db }, { caller, params }) {
      const { project } = scopeOf(caller, params)
      const { evaluation_run_id: run_id } = params
      await requireMarked(db, 'run', project, run_id, 'evaluation_run_id', now())
      await db.write('stopServedRun', { project_id: project, run_id })
      return { success: true as const }
    },
  }),
  operation('POST', `${runs}/:evaluation_run_id/resume`, {
    right: 'infer',
    summary: 'Have a stopped evaluation run go on, or ask the failed rows of a finished one again',
    params: RunPath,
    answer: Resumed,
    refusals: [
      'scope_forbidden',
      'evaluation_run_not_found',
      'evaluation_run_not_resumable',
      'too_many_served_runs',
      'query_too_slow',
    ],
    rule: (services, { caller, params }) =>
      resumeRun(services, scopeOf(caller, params), params.evaluation_run_id, services.signal),
  }),
  operation('POST', '/evaluations/rescore', {
    right: 'infer',
    summary: 'Score the predictions of a finished evaluation with other scorers, as a new run',
    body: RescoreBody,
    answer: Rescoring,
    refusals: [...ofScorers, 'evaluation_run_not_found', 'class_conflict', 'query_too_slow'],
    rule: (services, request) => rescoreRun(services, scopeIn(request), request.body, services.signal),
  }),
  operation('POST', '/evaluations/evaluate_model', {
    right: 'infer',
    summary: 'Have the server run an evaluation with a served model and its settings',
    body: EvaluateModelBody,
    answer: Evaluating,
    refusals: ofRuns,
    rule: (services, request) => evaluateModel(services, scopeIn(request), request.body, services.signal),
  }),
  operation('POST', '/calls/score', {
    right: 'write',
    summary: 'Have scorers score calls in the background, as feedback on them',
    tags: ['scorers'],
    body: ScoreCallsBody,
    answer: Scoring,
    refusals: [...ofScorers, 'call_not_found'],
    rule: (services, request) => scoreCalls(services, scopeIn(request), request.body),
  }),
)
