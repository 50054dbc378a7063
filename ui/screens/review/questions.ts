import { type Draft, validateDraft } from '../../review/draft.ts'
import { type Field, shapeOf } from '../../review/field.ts'
import { readObject, type Spec, specOf } from '../../server/objects.ts'
import type { QueueItem } from '../../server/queues.ts'
import type { Answer, EarlierAnswer } from '../../server/reviews.ts'
import { type JsonNode, nodeAt, stringOf } from '../../value/json-index.ts'
import { parseRef } from '../../value/ref.ts'

/** A question for reviewers, and the feedback that its answer becomes. */
export interface Question {
  key: string
  title: string
  description: string
  field: Field
  /** Whether the server accepts every value of the field. */
  isCertain: boolean
  type: string
  annotationRef?: string
  /** The member of the payload that holds the answer. */
  member: 'value' | 'note' | 'emoji' | 'preferred' | 'reason'
  /** What else the payload holds, as JSON members that begin with a comma. */
  rest?(drafts: ReadonlyMap<string, Draft>): string
  /** It is stored with another question. */
  isStoredWithOther?: true
  /** An item is completed only with an answer to it. */
  isNeeded?: true
}

const emoji = (label: string, sign: string, key: string) => ({ label, json: JSON.stringify(sign), key })

const thumb: Question = {
  key: 'thumb',
  title: 'Is it good?',
  description: '',
  field: { kind: 'choice', options: [emoji('Good', '👍', '1'), emoji('Bad', '👎', '2')] },
  isCertain: true,
  type: 'wandb.reaction.1',
  member: 'emoji',
}

const note: Question = {
  key: 'note',
  title: 'Note',
  description: '',
  field: { kind: 'text', least: 0, most: 1024 },
  isCertain: true,
  type: 'wandb.note.1',
  member: 'note',
}

const questionOfSpec = ({ id, ref, title, description, schema }: Spec): Question => ({
  key: id,
  title,
  description,
  ...shapeOf(schema),
  type: `wandb.annotation.${id}`,
  annotationRef: ref,
  member: 'value',
})

const preference = 'heddle.preference'

/** Which answer of a pair is better. They are numbered as they are shown, and stored as calls. */
function questionsOfPair(other: string, { left, right }: { left: string; right: string }): Question[] {
  const option = (label: string, call: string | null, key: string) => ({
    label,
    json: JSON.stringify(call),
    key,
  })
  const reason: Question = {
    key: 'reason',
    title: 'Reason',
    description: '',
    field: { kind: 'text', least: 0, most: 4096 },
    isCertain: true,
    type: preference,
    member: 'reason',
    isStoredWithOther: true,
  }
  const better: Question = {
    key: 'better',
    title: 'Which is better?',
    description: '',
    field: {
      kind: 'choice',
      options: [option('Answer 1', left, '1'), option('Answer 2', right, '2'), option('Tie', null, '0')],
    },
    isCertain: true,
    isNeeded: true,
    type: preference,
    member: 'preferred',
    rest(drafts) {
      const { json } = validateDraft(reason.field, drafts.get(reason.key))
      return `,"other":${JSON.stringify(other)}${json === undefined ? '' : `,"reason":${json}`}`
    },
  }
  return [better, reason]
}

/** The questions about an item: a pair has its own. */
export const questionsFor = ({ other_call_id: other, display }: QueueItem, list: readonly Question[]) =>
  other === null || display === null ? list : questionsOfPair(other, display)

/** Whether an answer about its call is about the item, not about another pair of the same call. */
export const isAbout = ({ other_call_id: other }: QueueItem, { type, payload }: EarlierAnswer): boolean =>
  type !== preference || stringOf(nodeAt(payload, 'other')) === other

export interface Questions {
  list: readonly Question[]
  /** References of the queue that do not resolve to an annotation spec. */
  missing: readonly string[]
}

/** The annotation specs of the queue, or a thumb if there are none; and always a note. */
export async function readQuestions(
  project: string,
  refs: readonly string[],
  signal: AbortSignal,
): Promise<Questions> {
  const found = await Promise.allSettled(
    refs.map(async (text) => {
      const ref = parseRef(text)
      if (ref?.kind !== 'object' || ref.project !== project) throw new Error(text)
      return specOf(project, await readObject(project, ref.name, ref.version, signal))
    }),
  )
  const specs = found.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  return {
    list: [...(specs.length > 0 ? specs.map(questionOfSpec) : [thumb]), note],
    missing: refs.filter((_, index) => found[index]?.status === 'rejected'),
  }
}

/** Undefined where the question was not answered. */
export function answerOf(question: Question, drafts: ReadonlyMap<string, Draft>): Answer | undefined {
  const { json } = validateDraft(question.field, drafts.get(question.key))
  if (json === undefined) return undefined
  const { type, annotationRef, member, rest } = question
  const payload = `{"${member}":${json}${rest?.(drafts) ?? ''}}`
  return { type, ...(annotationRef && { annotationRef }), payload }
}

/** The latest earlier answer to a question. */
export function earlierAnswerOf(
  question: Question,
  given: readonly EarlierAnswer[],
): { id: string; node: JsonNode } | undefined {
  const last = given.findLast(({ type }) => type === question.type)
  const node = nodeAt(last?.payload, question.member)
  return last === undefined || node === undefined ? undefined : { id: last.id, node }
}
