import { createYieldToLoop } from '../../../packages/waiting/index.ts'
import { valueAt } from '../../domain/expressions/json-value.ts'
import { checkPath, splitPath } from '../../domain/expressions/path.ts'
import { wrong } from '../../domain/refusals.ts'
import type { Database } from '../../storage/database.ts'
import { streamFeedbackOfType } from '../../storage/feedback/queries.ts'
import { boundTo } from '../../storage/transaction.ts'
import { kindOf, prefixes } from '../feedback/kinds.ts'
import type { Scope } from '../scope.ts'
import type { JudgeQuestion } from '../scorers/contract.ts'
import type { LabelsBody } from './contract.ts'
import { expectedValues } from './expected.ts'

const maxFeedback = 20_000

export type LabelSource = 'annotation' | 'expected' | 'feedback'

/** What is known of a call. Without a truth people differ. */
interface Label {
  source: LabelSource
  truth: number | undefined
  /** What each person said, without an adjudicator. */
  votes: readonly number[]
}

interface Labelling {
  db: Database
  scope: Scope
  type: JudgeQuestion['type']
  /** Labels are indexes into them. */
  categories: readonly (string | boolean)[]
  signal: AbortSignal
}

/** Refuses what no question could have. */
export function checkLabels({ annotation, path, positive, expected, feedback }: LabelsBody): void {
  if (annotation == null && expected == null && feedback == null) {
    throw wrong('labels', 'no source of labels', '`annotation`, `expected` or `feedback`')
  }
  for (const [name, value] of Object.entries({ path, positive })) {
    if (annotation == null && value != null) {
      throw wrong(`labels.${name}`, 'given without `labels.annotation`', 'nothing')
    }
  }
  if (path != null) checkPath(path, 'labels.path')
  if (expected != null) checkPath(expected.column, 'labels.expected.column')
  if (feedback == null) return
  const kind = kindOf(feedback.type)
  if (kind !== 'reaction' && kind !== 'free') {
    throw wrong(
      'labels.feedback.type',
      JSON.stringify(feedback.type),
      '`wandb.reaction.1` or a type of your own',
    )
  }
  if (feedback.path != null) checkPath(feedback.path, 'labels.feedback.path')
  else if (kind === 'free')
    throw wrong('labels.feedback.path', 'nothing', 'the place of the label in the payload')
}

/** The labels of calls by each source that is asked for; the first that tells of a call counts. */
export async function labelsOf(
  labelling: Labelling,
  { annotation, path, positive, expected, feedback }: LabelsBody,
) {
  const { type } = labelling
  const ofOptions = (positive: readonly string[] | null | undefined, field: string) => {
    if (positive != null && type !== 'predicate') throw wrong(field, `given for a ${type}`, 'nothing')
    return (json: string | undefined) => voteIn(json, labelling.categories, positive)
  }
  const voteOfAnnotation = ofOptions(positive, 'labels.positive')
  const voteOfRow = ofOptions(expected?.positive, 'labels.expected.positive')
  const voteOfFeedback = ofOptions(feedback?.positive, 'labels.feedback.positive')
  const annotated =
    annotation == null
      ? undefined
      : await votesOf(labelling, {
          type: `${prefixes.annotation}.${annotation}`,
          path: ['value', ...(path == null ? [] : splitPath(path))],
          voteOf: voteOfAnnotation,
        })
  const rows = expected == null ? undefined : await expectedLabels(labelling, expected, voteOfRow)
  const reacted = feedback == null ? undefined : await votesOf(labelling, feedbackAsked(feedback))
  return {
    truthOf(call: string): Label | undefined {
      const ofPeople = annotated?.labelOf(call)
      if (ofPeople) return { source: 'annotation', ...ofPeople }
      const truth = rows?.labels.get(call)
      if (truth !== undefined) return { source: 'expected', truth, votes: [] }
      const ofUsers = reacted?.labelOf(call)
      return ofUsers && { source: 'feedback', ...ofUsers }
    },
    unusable: [annotated, rows, reacted].reduce((sum, source) => sum + (source?.unusable ?? 0), 0),
  }

  function feedbackAsked({ type, path, positive }: NonNullable<LabelsBody['feedback']>): VotesAsked {
    if (path != null) return { type, path: splitPath(path), voteOf: voteOfFeedback }
    const isThumb = labelling.type === 'predicate' && positive == null
    return { type, path: ['detoned'], voteOf: isThumb ? thumbIn : voteOfFeedback }
  }
}

interface VotesAsked {
  /** Of the feedback. */
  type: string
  path: string[]
  /** Undefined if the value is none of the options. `json` is a scalar. */
  voteOf(json: string | undefined): number | undefined
}

/** The latest label of each person for each call, and the latest decision of an adjudicator. */
async function votesOf({ db, scope: { project }, signal }: Labelling, { type, path, voteOf }: VotesAsked) {
  const pause = createYieldToLoop(signal)
  const votes = new Map<string, Map<string, number>>()
  const rulings = new Map<string, number>()
  const seen = new Set<string>()
  let unusable = 0
  for await (const rows of streamFeedbackOfType(boundTo(db, signal), { project, type, limit: maxFeedback })) {
    for (const { call_id, user_id, payload, standing } of rows) {
      const isRuling = standing === 'decision'
      const key = JSON.stringify([call_id, isRuling ? null : user_id])
      if (standing === 'none' || seen.has(key)) continue
      seen.add(key)
      const vote = voteOf(valueAt(payload, path))
      const own = votes.get(call_id) ?? new Map<string, number>()
      if (vote === undefined) unusable++
      else if (isRuling) rulings.set(call_id, vote)
      else votes.set(call_id, own.set(user_id, vote))
      const wait = pause()
      if (wait) await wait
    }
  }
  return {
    labelOf(call: string): Omit<Label, 'source'> | undefined {
      const own = [...(votes.get(call)?.values() ?? [])]
      const ruling = rulings.get(call)
      if (ruling === undefined && own.length === 0) return undefined
      return { truth: ruling ?? majorityOf(own), votes: own }
    },
    unusable,
  }
}

async function expectedLabels(
  { db, scope, signal }: Labelling,
  expected: NonNullable<LabelsBody['expected']>,
  voteOf: VotesAsked['voteOf'],
) {
  const labels = new Map<string, number>()
  let unusable = 0
  for await (const { calls, value } of expectedValues(boundTo(db, signal), scope, expected)) {
    const vote = voteOf(value)
    if (vote === undefined) unusable++
    else for (const call of calls) labels.set(call, vote)
  }
  return { labels, unusable }
}

function thumbIn(json: string | undefined): number | undefined {
  return json === '"👍"' ? 0 : json === '"👎"' ? 1 : undefined
}

/** `json` is a scalar. A level may be given as its label or its number. */
function voteIn(
  json: string | undefined,
  categories: readonly (string | boolean)[],
  positive: readonly string[] | null | undefined,
): number | undefined {
  if (json === undefined || json === 'null' || /^[[{]/.test(json)) return undefined
  const value = JSON.parse(json) as string | number | boolean
  if (positive != null) return positive.includes(String(value)) ? 0 : 1
  // Of levels that are called "1" to "5", 3 is the one with that name.
  const index = categories.indexOf(typeof value === 'number' ? String(value) : value)
  if (index >= 0) return index
  const isPredicate = categories[0] === true && categories[1] === false
  if (isPredicate) return value === 1 ? 0 : value === 0 ? 1 : undefined
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < categories.length
    ? value
    : undefined
}

/** What more than half of the people said. */
export function majorityOf(votes: readonly number[]): number | undefined {
  return votes.find((vote) => 2 * votes.filter((other) => other === vote).length > votes.length)
}
