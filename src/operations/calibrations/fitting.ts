import { createOfClass, objectIdOf, refOf } from '../definitions/kind.ts'
import type { OperationParts } from '../parts.ts'
import type { Scope } from '../scope.ts'
import type { FitBody, Report } from './contract.ts'
import { evidenceOf } from './evidence.ts'
import { reportOn } from './report.ts'
import { calibrationClass } from './stored.ts'

/** Stores a calibration if the labels show that it helps. */
export async function fitCalibration(
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
