import { createYieldToLoop, type YieldToLoop } from '../../../packages/waiting/index.ts'
import { Refusal, wrong } from '../../domain/refusals.ts'
import {
  cohenKappa,
  coincidencesOf,
  confusionOf,
  gwetAc1,
  krippendorffAlpha,
  type Pair,
} from '../../domain/statistics/agreement.ts'
import { calibrated } from '../../domain/statistics/calibration.ts'
import { correctedShare, labelsToPromise, thresholdOf } from '../../domain/statistics/flagged.ts'
import { resampled, shareOf } from '../../domain/statistics/intervals.ts'
import { claimOf } from '../../domain/statistics/reliability.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { winnerOf } from '../decisions/shares.ts'
import type { Scope } from '../scope.ts'
import type { AgreementBody } from './contract.ts'
import { type Evidence, evidenceOf, type LabelledCall } from './evidence.ts'
import { evidenceFields } from './report.ts'
import { applied, readCalibration } from './stored.ts'

const maxCallIds = 100
/** With fewer labels chance is not told from agreement. */
const minLabelsOfKappa = 30
const tooSure = 'all agree, and so do all samples of them: an interval from 1 to 1 is too narrow'
/** How calls were chosen to be labelled is not recorded. */
const ofSample =
  'all figures hold if labelled calls were chosen at random; those that teach most, or that a rule picked by a score, are not'
const yes = 0

type JudgedCall = LabelledCall & Pair

/** How well a judge and people agree about one question. */
export async function agreementOf(db: BoundDatabase, scope: Scope, body: AgreementBody) {
  const { evidence, calibration, note } = await calibratedEvidence(db, scope, body)
  const { question, categories, labelled, open } = evidence
  const isPredicate = question.type === 'predicate'
  for (const name of ['threshold', 'precision'] as const) {
    if (body[name] != null && !isPredicate) throw wrong(name, `given for a ${question.type}`, 'nothing')
  }
  const threshold = isPredicate ? (body.threshold ?? question.threshold ?? 0.5) : null
  const judgedOf = (probabilities: readonly number[]) =>
    threshold === null ? winnerOf(probabilities) : (probabilities[yes] as number) >= threshold ? yes : 1
  const calls = labelled.map(
    (call): JudgedCall => ({ ...call, human: call.truth, judge: judgedOf(call.probabilities) }),
  )
  const judgedOpen = open.map(({ probabilities }) => judgedOf(probabilities))
  const pause = createYieldToLoop(db.signal)
  const notes = note === undefined ? [] : [note]
  if (calls.length > 0) notes.push(ofSample)
  const beyond = await chanceCorrected(calls, evidence, notes, pause)
  const humans = await amongPeople(labelled, categories.length, question.type === 'score', pause)
  if ([beyond, humans].some((found) => (found?.kappa ?? found?.ac1)?.low === 1)) notes.push(tooSure)
  return {
    ...evidenceFields(evidence),
    ...{ categories, threshold, calibration, humans, ...beyond },
    confusion: cellsOf(calls, categories),
    agreement: shareOf(calls.filter(({ human, judge }) => human === judge).length, calls.length),
    ...(isPredicate ? ratesOf(calls, judgedOpen, notes) : noRates),
    suggested: body.precision == null ? null : suggestedFor(body.precision, evidence, notes),
    notes,
  }
}

/** With the probabilities by which the judge decides. */
async function calibratedEvidence(
  db: BoundDatabase,
  scope: Scope,
  body: AgreementBody,
): Promise<{ evidence: Evidence; calibration: string | null; note?: string }> {
  const evidence = await evidenceOf(db, scope, body)
  const { question, digest, prompt } = evidence
  const named = body.calibration ?? question.calibration
  if (named == null) return { evidence, calibration: null }
  const map = await readCalibration(db, scope.project, named, 'calibration').catch((error: unknown) => {
    if (body.calibration != null || !(error instanceof Refusal) || error.status >= 500) throw error
    return undefined
  })
  if (map === undefined)
    return { evidence, calibration: null, note: 'the calibration of the question is gone' }
  if (applied(map, { digest, prompt }, []) === null) return { evidence, calibration: null }
  const calibratedCall = <Call extends { probabilities: readonly number[] }>(call: Call): Call => ({
    ...call,
    probabilities: calibrated(map, call.probabilities),
  })
  const labelled = evidence.labelled.map(calibratedCall)
  return { evidence: { ...evidence, labelled, open: evidence.open.map(calibratedCall) }, calibration: named }
}

function cellsOf(calls: readonly JudgedCall[], categories: Evidence['categories']) {
  const cells = Map.groupBy(calls, ({ human, judge }) => human * categories.length + judge)
  return [...cells]
    .sort(([cell], [other]) => cell - other)
    .flatMap(([cell, own]) => {
      const human = categories[Math.floor(cell / categories.length)]
      const judge = categories[cell % categories.length]
      if (human === undefined || judge === undefined) return []
      const call_ids = own.slice(0, maxCallIds).map(({ call_id }) => call_id)
      return [{ human, judge, count: own.length, call_ids }]
    })
}

async function chanceCorrected(
  calls: readonly JudgedCall[],
  { question, categories }: Evidence,
  notes: string[],
  pause: YieldToLoop,
) {
  if (calls.length < minLabelsOfKappa) {
    notes.push(`${calls.length} labels: κ and AC1 need ${minLabelsOfKappa}`)
    return { kappa: null, ac1: null }
  }
  const size = categories.length
  const isOrdinal = question.type === 'score'
  const kappaOf = (sample: readonly Pair[]) => cohenKappa(confusionOf(sample, size), isOrdinal)
  const isVaried = (side: keyof Pair) => new Set(calls.map((call) => call[side])).size > 1
  const isDefined = isVaried('human') && isVaried('judge')
  if (!isDefined) notes.push('the judge or people gave one answer only: κ tells nothing')
  const kappa = isDefined ? await resampled(calls, kappaOf, pause) : null
  return {
    kappa,
    ac1: await resampled(calls, (sample) => gwetAc1(confusionOf(sample, size)), pause),
  }
}

const noRates = { true_positive_rate: null, true_negative_rate: null, precision: null, prevalence: null }

/** Of a predicate. `unlabelled` is what the judge said of calls without a label. */
function ratesOf(calls: readonly JudgedCall[], unlabelled: readonly number[], notes: string[]) {
  const count = (human: number, judge: number) =>
    calls.filter((call) => call.human === human && call.judge === judge).length
  const [right, missed, wrongly, rightly] = [count(yes, yes), count(yes, 1), count(1, yes), count(1, 1)]
  const truePositive = { count: right, of: right + missed }
  const trueNegative = { count: rightly, of: wrongly + rightly }
  const flagged = unlabelled.filter((answer) => answer === yes).length
  const corrected = correctedShare({ flagged, of: unlabelled.length, truePositive, trueNegative }) ?? null
  if (corrected === null) {
    const why =
      unlabelled.length === 0
        ? 'no call is without a label'
        : 'the labels do not show that the judge is better than chance'
    notes.push(`the share of yes cannot be corrected: ${why}`)
  }
  return {
    true_positive_rate: shareOf(truePositive.count, truePositive.of),
    true_negative_rate: shareOf(trueNegative.count, trueNegative.of),
    precision: shareOf(right, right + wrongly),
    prevalence: { flagged: shareOf(flagged, unlabelled.length), corrected },
  }
}

/** κ and AC1 over the calls that the most common number of people, two at least, have labelled; α over all of these. */
export async function amongPeople(
  labelled: readonly Pick<LabelledCall, 'votes'>[],
  size: number,
  isOrdinal: boolean,
  pause: YieldToLoop,
) {
  // Where an adjudicator alone has answered there is none.
  const ratings = labelled.map(({ votes }) => votes).filter(({ length }) => length > 1)
  const byRaters = Map.groupBy(ratings, ({ length }) => length)
  const [common] = [...byRaters].toSorted(([, a], [, b]) => b.length - a.length)
  if (common === undefined) return null
  const [raters, alike] = common
  const beyondChance = (of: typeof ratings, statistic: (counts: number[][]) => number | null) =>
    of.length < minLabelsOfKappa
      ? null
      : resampled(of, (sample) => statistic(coincidencesOf(sample, size)), pause)
  return {
    calls: alike.length,
    raters,
    kappa: await beyondChance(alike, (counts) => cohenKappa(counts)),
    ac1: await beyondChance(alike, gwetAc1),
    alpha: await beyondChance(ratings, (counts) => krippendorffAlpha(counts, isOrdinal)),
  }
}

function suggestedFor(wanted: number, { labelled, open }: Evidence, notes: string[]) {
  const claims = labelled.map((call) => claimOf(call, true))
  const all = [...labelled, ...open].map(({ probabilities }) => probabilities[yes] as number)
  const { found, best } = thresholdOf(claims, all, wanted)
  if (found === undefined) {
    const tried = best
      ? `the best threshold, ${best.threshold}, has ${best.right} of ${best.flagged} right, which promises ${best.bound.toFixed(2)}`
      : 'there are none'
    const isFew = best === undefined || best.flagged < labelsToPromise(wanted)
    const needed = `; ${labelsToPromise(wanted)} flagged calls with a label, all right, would`
    notes.push(
      `labels cannot tell that ${wanted} of what is flagged is right: ${tried}${isFew ? needed : ''}`,
    )
  }
  return found ?? null
}
