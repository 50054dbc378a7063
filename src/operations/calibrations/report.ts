import { createYieldToLoop } from '../../../packages/waiting/index.ts'
import {
  fitted,
  identity,
  isBiasFitted,
  minLabels,
  minSlope,
  mostTelling,
} from '../../domain/statistics/calibration.ts'
import { crossValidated, gainOf, qualityOf } from '../../domain/statistics/reliability.ts'
import type { Report } from './contract.ts'
import type { Evidence } from './evidence.ts'

const reviewed = 10

/** Intervals shrink with the square root of the labels: four times as many halve them. */
const timesMore = 3

/** What every answer about a question begins with. */
export const evidenceFields = ({ question, digest, model, labelled, open, counts }: Evidence) => ({
  type: question.type,
  digest,
  model,
  decisions: labelled.length + open.length + counts.disputed,
  labels: labelled.length,
  ...counts,
})

/** How reliable the probabilities are, and what a calibration fitted to the labels would change. */
export async function reportOn(evidence: Evidence, signal: AbortSignal): Promise<Report> {
  const { labelled, open, question } = evidence
  const pause = createYieldToLoop(signal)
  const isPredicate = question.type === 'predicate'
  const bias = isBiasFitted(labelled, isPredicate)
  const count = labelled.length
  const isFitted = count >= minLabels
  const map = isFitted ? await fitted(labelled, { bias }, pause) : null
  const tried = isFitted ? await crossValidated(labelled, isPredicate, pause) : undefined
  const gain = tried ? await gainOf(labelled, tried, pause) : null
  const isTelling = map !== null && map.a > minSlope
  const helps = isTelling && gain !== null && gain.low > 0
  const review = await mostTelling(
    open,
    labelled,
    map ?? identity,
    { bias: isPredicate, count: reviewed },
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
