import { projectPath } from '../../domain/fields.ts'
import { family, operation } from '../parts.ts'
import { scopeOf } from '../scope.ts'
import { Agreement, AgreementBody, FitBody, Fitted, Report, ReportBody } from './contract.ts'

// The statistics are loaded with the first request.
const url = '/v2/:entity/:project/calibrations'
const shared = { tags: ['scorers'], params: projectPath }
const refusals = [
  'invalid_value',
  'object_not_found',
  'object_deleted',
  'evaluation_run_not_found',
  'scorer_not_runnable',
  'query_too_slow',
] as const

export const calibrationRoutes = family(
  operation('POST', url, {
    ...shared,
    right: 'write',
    summary: 'Fit a calibration of a question to what people said, and store it if it helps',
    body: FitBody,
    answer: Fitted,
    refusals: [...refusals, 'class_conflict'],
    rule: async (services, { caller, params, body }) => {
      const { fitCalibration } = await import('./report.ts')
      return fitCalibration(services, scopeOf(caller, params), body, services.signal)
    },
  }),
  operation('POST', `${url}/report`, {
    ...shared,
    right: 'read',
    summary: 'How reliable the probabilities of a question are, by what people said',
    body: ReportBody,
    answer: Report,
    refusals,
    rule: async ({ db, signal }, { caller, params, body }) => {
      const scope = scopeOf(caller, params)
      const [{ evidenceOf }, { reportOn }] = await Promise.all([
        import('./evidence.ts'),
        import('./report.ts'),
      ])
      return reportOn(await evidenceOf(db, scope, body), signal)
    },
  }),
  operation('POST', `${url}/agreement`, {
    ...shared,
    right: 'read',
    summary: 'How well the judge of a question and people agree',
    body: AgreementBody,
    answer: Agreement,
    refusals,
    rule: async ({ db }, { caller, params, body }) => {
      const { agreementOf } = await import('./agreement.ts')
      return agreementOf(db, scopeOf(caller, params), body)
    },
  }),
)
