import { type Signal, signal } from '@preact/signals'
import { type Draft, draftOf } from '../../review/draft.ts'
import { readCall } from '../../server/calls.ts'
import { removeFeedback } from '../../server/feedback.ts'
import type { QueueItem } from '../../server/queues.ts'
import {
  type Answer,
  type AnswerTarget,
  addAnswers,
  type EarlierAnswer,
  leaseMs,
  type Progress,
  readAnswers,
  replaceAnswer,
  setProgress,
} from '../../server/reviews.ts'
import type { JsonNode } from '../../value/json-index.ts'
import { answerOf, earlierAnswerOf, isAbout, type Question, questionsFor } from './questions.ts'

/** An item that this reviewer has leased: the current one or the next. */
export interface LeasedItem {
  place: AnswerTarget
  item: QueueItem
  /** The call, or the error of reading it. */
  call: JsonNode | Error
  /** The second call of a pair. */
  other: JsonNode | Error | undefined
  questions: readonly Question[]
  /** When the lease ends, by the clock of this machine. */
  until: Signal<number>
  drafts: Signal<ReadonlyMap<string, Draft>>
  /** What others answered. */
  others: readonly EarlierAnswer[]
  /** The answers that the server has, by question. */
  kept: Map<string, { id: string; payload: string }>
  /** Ids of answers that may have been written though no response arrived: the same answer is sent again under the same id. */
  ids: Map<string, string>
  isChanged: boolean
}

export async function loadLeasedItem(
  { project, queue, user }: { project: string; queue: string; user: string },
  ofQueue: readonly Question[],
  item: QueueItem,
  until: number,
): Promise<LeasedItem> {
  const place = { project, queue, call: item.call_id }
  const read = (id: string) =>
    readCall(project, id, new AbortController().signal).catch((error: Error) => error)
  const [call, other, all] = await Promise.all([
    read(item.call_id),
    item.other_call_id === null ? undefined : read(item.other_call_id),
    readAnswers(place).then((answers) => answers.filter((answer) => isAbout(item, answer))),
  ])
  const questions = questionsFor(item, ofQueue)
  const own = all.filter((answer) => answer.user === user)
  const drafts = new Map<string, Draft>()
  const kept: LeasedItem['kept'] = new Map()
  for (const question of questions) {
    const last = earlierAnswerOf(question, own)
    if (last === undefined) continue
    drafts.set(question.key, draftOf(question.field, last.node))
    if (!question.isStoredWithOther) kept.set(question.key, { id: last.id, payload: '' })
  }
  for (const question of questions) {
    const answer = kept.get(question.key)
    if (answer !== undefined) answer.payload = answerOf(question, drafts)?.payload ?? ''
  }
  return {
    place,
    item,
    call,
    other,
    questions,
    until: signal(until),
    drafts: signal<ReadonlyMap<string, Draft>>(drafts),
    others: all.filter((answer) => answer.user !== user),
    kept,
    ids: new Map(),
    isChanged: false,
  }
}

export const leaseEnd = (asked: number): number => asked + leaseMs

/** The writes for an item; made once, so that they can be repeated. */
export interface Save {
  held: LeasedItem
  state: Exclude<Progress, 'in_progress'>
  add: [key: string, id: string, answer: Answer][]
  replace: [key: string, id: string, answer: Answer, replaced: string][]
  remove: [key: string, id: string][]
}

export function saveOf(held: LeasedItem, state: Save['state']): Save {
  const save: Save = { held, state, add: [], replace: [], remove: [] }
  for (const question of held.questions) {
    const { key, isStoredWithOther } = question
    if (isStoredWithOther) continue
    const kept = held.kept.get(key)
    // Skipping an item gives no answers, and removes those that were given before.
    const answer = state === 'skipped' ? undefined : answerOf(question, held.drafts.value)
    if (answer === undefined) {
      if (kept) save.remove.push([key, kept.id])
      continue
    }
    if (kept?.payload === answer.payload) continue
    const said = `${key} ${answer.payload}`
    const id = held.ids.get(said) ?? newId()
    held.ids.set(said, id)
    if (kept === undefined) save.add.push([key, id, answer])
    else save.replace.push([key, id, answer, kept.id])
  }
  return save
}

/** Answers are written before the state: a completed item has all of them. */
export async function writeAnswers({ held, add, replace, remove }: Save): Promise<void> {
  const { place, kept } = held
  await addAnswers(
    place,
    add.map(([, id, answer]) => [id, answer]),
  )
  for (const [, id, answer, replaced] of replace) await replaceAnswer(place, id, answer, replaced)
  for (const [, id] of remove) await removeFeedback(place.project, id)
  for (const [key, id, { payload }] of [...add, ...replace]) kept.set(key, { id, payload })
  for (const [key] of remove) kept.delete(key)
  held.ids.clear()
}

export async function writeAll(save: Save): Promise<void> {
  await writeAnswers(save)
  const { project, queue } = save.held.place
  await setProgress(project, queue, save.held.item.id, save.state)
}

/** Over http from another host a page has no randomUUID. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return `review-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
