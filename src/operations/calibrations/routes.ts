import { projectPath } from '../../domain/fields.ts'
import { createOfClass, objectIdOf, refOf } from '../definitions/kind.ts'
import { family, type OperationParts, operation } from '../parts.ts'
import { type Scope, scopeOf } from '../scope.ts'
import { agreementOf } from './agreement.ts'
import { Agreement, AgreementBody, FitBody, Fitted, Report, ReportBody } from './contract.ts'
import { evidenceOf } from './evidence.ts'
import { reportOn } from './report.ts'
import { calibrationClass } from './stored.ts'

/** Stores a calibration if the labels show that it helps. */
async function fitCalibration(
  services: OperationParts,
  scope: Scope,
  body: FitBody,
  signal: AbortSignal,
): Promise<Report & { calibration: string | null }> {
  const name = body.name ?? `${body.scorer}.${body.question}`
  objectIdOf(name)
  const evidence = await evidenceOf(services.db, scope.project, body, signal)
  const report = await reportOn(evidence, signal)
  if (body.dry_run || !report.helps || report.map === null) return { ...report, calibration: null }
  const { before, after, gain, map, digest, model, labels } = report
  const stored = await createOfClass(services, scope, name, calibrationClass, {
    name,
    ...{ scorer: body.scorer, question_name: body.question, annotation: body.labels.annotation },
    ...{ question: digest, prompt: evidence.prompt, model, ...map, labels, gain },
    before: { log_loss: before?.log_loss, brier: before?.brier, ece: before?.ece },
    after: { log_loss: after?.log_loss, brier: after?.brier, ece: after?.ece },
  })
  return { ...report, calibration: refOf(services, scope, stored) }
}

const url = '/v2/:entity/:project/calibrations'
const shared = { tags: ['scorers'], params: projectPath }
const refusals = [
  'invalid_value',
  'object_not_found',
  'object_deleted',
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
    rule: (services, { caller, params, body }) =>
      fitCalibration(services, scopeOf(caller, params), body, services.signal),
  }),
  operation('POST', `${url}/report`, {
    ...shared,
    right: 'read',
    summary: 'How reliable the probabilities of a question are, by what people said',
    body: ReportBody,
    answer: Report,
    refusals,
    rule: async ({ db, signal }, { caller, params, body }) => {
      const { project } = scopeOf(caller, params)
      return reportOn(await evidenceOf(db, project, body, signal), signal)
    },
  }),
  operation('POST', `${url}/agreement`, {
    ...shared,
    right: 'read',
    summary: 'How well the judge of a question and people agree',
    body: AgreementBody,
    answer: Agreement,
    refusals,
    rule: ({ db, signal }, { caller, params, body }) =>
      agreementOf(db, scopeOf(caller, params), body, signal),
  }),
)
