import { createYieldToLoop } from '../../../packages/waiting/index.ts'
import {
  fitted,
  identity,
  minLabels,
  minSlope,
  mostTelling,
  shiftedOptions,
} from '../../domain/statistics/calibration.ts'
import { crossValidated, gainOf, qualityOf } from '../../domain/statistics/reliability.ts'
import { boundTo } from '../../storage/transaction.ts'
import { createOfClass, objectIdOf, refOf } from '../definitions/kind.ts'
import type { OperationParts } from '../parts.ts'
import type { Scope } from '../scope.ts'
import type { FitBody, Report } from './contract.ts'
import { type Evidence, evidenceOf } from './evidence.ts'
import { calibrationClass } from './stored.ts'

const reviewed = 10

/** Intervals shrink with the square root of the labels: four times as many halve them. */
const timesMore = 3

/** What every answer about a question begins with. */
export const evidenceFields = ({ question, digest, model, labelled, decided, counts }: Evidence) => ({
  type: question.type,
  digest,
  model,
  decisions: decided,
  labels: labelled.length,
  ...counts,
})

/** How reliable the probabilities are, and what a calibration fitted to the labels would change. */
export async function reportOn(evidence: Evidence, signal: AbortSignal): Promise<Report> {
  const { labelled, open, question } = evidence
  const pause = createYieldToLoop(signal)
  const isPredicate = question.type === 'predicate'
  const shifted = shiftedOptions(labelled, isPredicate)
  const count = labelled.length
  const isFitted = count >= minLabels
  const map = isFitted ? await fitted(labelled, { shifted }, pause) : null
  const tried = isFitted ? await crossValidated(labelled, shifted, pause) : undefined
  const gain = tried ? await gainOf(labelled, tried, pause) : null
  const isTelling = map !== null && map.a > minSlope
  const helps = isTelling && gain !== null && gain.low > 0
  const review = await mostTelling(
    open,
    labelled,
    map ?? identity,
    { shifted: isPredicate ? [0] : [], count: reviewed },
    pause,
  )
  return {
    ...evidenceFields(evidence),
    before: count === 0 ? null : await qualityOf(labelled, isPredicate, pause),
    after: tried ? await qualityOf(tried, isPredicate, pause) : null,
    map,
    gain,
    helps,
    why: helps ? null : whyNot(count, isTelling),
    labels_to_halve: timesMore * count,
    review: review.map(({ call_id }) => call_id),
  }
}

function whyNot(labels: number, isTelling: boolean): string {
  if (labels < minLabels) return `${labels} labels: at least ${minLabels - labels} more are needed`
  if (!isTelling) return 'the probabilities say nothing about the labels'
  return 'the labels do not show that a calibration would be better than none'
}

/** Stores a calibration if the labels show that it helps. */
export async function fitCalibration(
  services: OperationParts,
  scope: Scope,
  body: FitBody,
  signal: AbortSignal,
): Promise<Report & { calibration: string | null }> {
  const name = body.name ?? `${body.scorer}.${body.question}`
  objectIdOf(name)
  const evidence = await evidenceOf(boundTo(services.db, signal), scope, body)
  const report = await reportOn(evidence, signal)
  if (body.dry_run || !report.helps || report.map === null) return { ...report, calibration: null }
  const { before, after, gain, map, digest, model, labels } = report
  const stored = await createOfClass(services, scope, name, calibrationClass, {
    name,
    ...{ scorer: body.scorer, question_name: body.question, labels_of: body.labels },
    ...{ question: digest, prompt: evidence.prompt, model, ...map, labels, gain },
    before: { log_loss: before?.log_loss, brier: before?.brier, ece: before?.ece },
    after: { log_loss: after?.log_loss, brier: after?.brier, ece: after?.ece },
  })
  return { ...report, calibration: refOf(services, scope, stored) }
}
