import { now } from '../../domain/time.ts'
import { requireMarked } from '../../storage/evaluations/marked-calls.ts'
import { family, operation } from '../parts.ts'
import { scopeOf } from '../scope.ts'
import { ProjectPath, RunPath, StartBody, Started, Stopped } from './contract.ts'
import { startRuns } from './start.ts'

const runs = '/v2/:entity/:project/evaluation_runs'
const tags = ['evaluation runs']

export const servedRunRoutes = family(
  operation('POST', `${runs}/serve`, {
    right: 'infer',
    summary: 'Have the server ask a model about every row of a dataset and score the answers',
    tags,
    params: ProjectPath,
    body: StartBody,
    answer: Started,
    refusals: [
      'invalid_value',
      'object_not_found',
      'class_conflict',
      'scorer_not_runnable',
      'too_many_served_runs',
      'query_too_slow',
    ],
    rule: (services, { caller, body, params }) =>
      startRuns(services, scopeOf(caller, params), body, services.signal),
  }),
  operation('POST', `${runs}/:evaluation_run_id/stop`, {
    right: 'infer',
    summary: 'Stop an evaluation run that the server carries out; its trials are kept',
    tags,
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
)
