import { membersOf } from '../../../packages/json/index.ts'
import { createYieldToLoop } from '../../../packages/waiting/index.ts'
import { wrong } from '../../domain/refusals.ts'
import type { Labelled } from '../../domain/statistics/calibration.ts'
import { sumOf } from '../../domain/statistics/intervals.ts'
import type { BoundDatabase, Database } from '../../storage/database.ts'
import { streamFeedbackOfType, streamKin } from '../../storage/feedback/queries.ts'
import { maxChoices } from '../decisions/contract.ts'
import { prefixes } from '../feedback/kinds.ts'
import { readScorer } from '../monitors/bound-scorers.ts'
import { liveObject } from '../objects/read.ts'
import type { Scope } from '../scope.ts'
import type { JudgeQuestion } from '../scorers/contract.ts'
import type { ReportBody } from './contract.ts'
import { checkLabels, type LabelSource, labelsOf } from './labels.ts'

/** More are not read: newer ones tell as much. */
const maxDecisions = 20_000
const maxLabels = 5_000
const maxTextLength = 256

interface DecidedCall {
  call_id: string
  probabilities: readonly number[]
}

export interface LabelledCall extends DecidedCall, Labelled {
  /** What each person said, without an adjudicator. */
  votes: readonly number[]
}

/** What is known about one question: what the model said, and what people said of the same calls. */
export interface Evidence {
  question: JudgeQuestion
  /** Of a predicate true and false; of the others, the values or labels. */
  categories: (string | boolean)[]
  digest: string
  prompt: string
  model: string | null
  /** All decisions about this question, labelled or not. */
  decided: number
  labelled: LabelledCall[]
  open: DecidedCall[]
  counts: {
    /** The labelled calls, by what their label is of. */
    sources: Record<LabelSource, number>
    disputed: number
    unusable: number
    /** Decisions whose probabilities are none of the options of the question. */
    improbable: number
    other_digests: { digest: string; decisions: number }[]
  }
}

interface Decision {
  digest: string
  prompt: string
  model: string | null
  runnable: string | null
  /** Undefined where the question was refused; empty where they are no probabilities. */
  probabilities: readonly number[] | undefined
}

export async function evidenceOf(db: BoundDatabase, scope: Scope, body: ReportBody): Promise<Evidence> {
  const { project } = scope
  checkLabels(body.labels)
  const decisions = await decisionsOf(db, project, body)
  const [newest] = decisions.values()
  const digest = body.digest ?? newest?.digest
  const example = [...decisions.values()].find((decision) => decision.digest === digest)
  if (digest === undefined || example === undefined) {
    await liveObject(db, project, { name: body.scorer, digest: 'latest' }, 'scorer')
    const field = digest === undefined ? 'question' : 'digest'
    throw wrong(field, JSON.stringify(body[field]), `a question that ${body.scorer} has decided about a call`)
  }
  const question = await questionOf(db, project, example, body)
  const categories = categoriesOf(question)
  const { truthOf, unusable } = await labelsOf(
    { db, scope, type: question.type, categories, signal: db.signal },
    body.labels,
  )
  const labelled: LabelledCall[] = []
  const open: DecidedCall[] = []
  const others = new Map<string, number>()
  const sources = { annotation: 0, expected: 0, feedback: 0 }
  let [decided, disputed, improbable] = [0, 0, 0]
  for (const [call_id, decision] of decisions) {
    if (decision.digest !== digest || decision.prompt !== example.prompt) {
      others.set(decision.digest, (others.get(decision.digest) ?? 0) + 1)
      continue
    }
    const { probabilities } = decision
    if (probabilities === undefined) continue
    if (probabilities.length !== categories.length) {
      improbable++
      continue
    }
    decided++
    const label = truthOf(call_id)
    if (label === undefined) open.push({ call_id, probabilities })
    else if (label.truth === undefined) disputed++
    else if (labelled.length < maxLabels) {
      labelled.push({ call_id, probabilities, truth: label.truth, votes: label.votes })
      sources[label.source]++
    }
  }
  return {
    ...{ question, categories, digest, decided, open },
    labelled: await withKin(db, project, labelled),
    prompt: example.prompt,
    model: example.model,
    counts: {
      ...{ sources, disputed, unusable, improbable },
      other_digests: [...others].map(([digest, count]) => ({ digest, decisions: count })),
    },
  }
}

/** Calls that are alike must not vouch for each other. */
async function withKin(db: BoundDatabase, project: string, labelled: readonly LabelledCall[]) {
  const ids = labelled.map(({ call_id }) => call_id)
  const known = new Map<string, string>()
  for await (const rows of streamKin(db, project, ids)) for (const { id, kin } of rows) known.set(id, kin)
  return labelled.map((call): LabelledCall => ({ ...call, kin: known.get(call.call_id) ?? call.call_id }))
}

/** The newest decision about each call, the newest first. */
async function decisionsOf(
  db: BoundDatabase,
  project: string,
  { scorer, question, digest }: ReportBody,
): Promise<Map<string, Decision>> {
  const pause = createYieldToLoop(db.signal)
  const decisions = new Map<string, Decision>()
  const of = { project, type: `${prefixes.runnable}.${scorer}`, limit: maxDecisions }
  for await (const rows of streamFeedbackOfType(db, of)) {
    for (const { call_id, payload, runnable_ref } of rows) {
      const decision = decisionIn(payload, question, runnable_ref)
      const known = decisions.get(call_id)
      // Of a call that was decided anew, the older decision may be the one that is asked for.
      const isWanted = known === undefined || (known.digest !== digest && decision?.digest === digest)
      if (decision !== undefined && isWanted) decisions.set(call_id, decision)
      const wait = pause()
      if (wait) await wait
    }
  }
  return decisions
}

/** The payload is feedback, which any client may have written: what does not have the form is no decision. */
function decisionIn(payload: string, name: string, runnable: string | null): Decision | undefined {
  const decisions = JSON.parse(membersOf(payload).get('decisions') ?? 'null')
  const questions = objectIn(decisions)?.questions
  const digest = objectIn(ownMember(questions, name))?.digest
  const value = objectIn(ownMember(JSON.parse(membersOf(payload).get('output') ?? 'null'), name))
  const { prompt, model } = objectIn(decisions) ?? {}
  if (!isShort(digest) || !isShort(prompt) || value === undefined) return undefined
  return {
    digest,
    prompt,
    model: isShort(model) ? model : null,
    runnable,
    probabilities: probabilitiesOf(value),
  }
}

/** Digests and names of models; what clients write themselves must not fill the memory. */
const isShort = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= maxTextLength

const objectIn = (value: unknown) =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined

const ownMember = (value: unknown, name: string): unknown => {
  const object = objectIn(value)
  return object && Object.hasOwn(object, name) ? object[name] : undefined
}

/** Clients may round what they write. */
const maxSumError = 0.01

/** Of a member of a score, as judges with questions give it; a refused question has none. */
function probabilitiesOf({ probability, probabilities }: Record<string, unknown>) {
  const isProbability = (value: unknown): value is number =>
    typeof value === 'number' && value >= 0 && value <= 1
  if (Array.isArray(probabilities)) {
    if (probabilities.length > maxChoices || !probabilities.every(isProbability)) return []
    return Math.abs(sumOf(probabilities) - 1) <= maxSumError ? probabilities : []
  }
  if (probability == null) return undefined
  return isProbability(probability) ? [probability, 1 - probability] : []
}

/** The question in the version of the scorer that decided: its options are those of the probabilities. */
async function questionOf(
  db: Database,
  project: string,
  { runnable }: Decision,
  { question: name }: ReportBody,
): Promise<JudgeQuestion> {
  const { scorer } = await readScorer(db, project, runnable ?? '', 'scorer')
  const question = 'judge' in scorer ? scorer.judge.questions?.find((own) => own.name === name) : undefined
  if (question === undefined) throw wrong('question', JSON.stringify(name), 'a question of the judge')
  return question
}

function categoriesOf({ type, choices, levels }: JudgeQuestion): (string | boolean)[] {
  if (type === 'predicate') return [true, false]
  return choices?.map(({ value }) => value) ?? levels?.map(({ label }) => label) ?? []
}
