import { type Draft, validateDraft } from '../../review/draft.ts'
import { type Field, shapeOf } from '../../review/field.ts'
import { readObject, type Spec, specOf } from '../../server/objects.ts'
import type { Answer, EarlierAnswer } from '../../server/reviews.ts'
import { type JsonNode, nodeAt } from '../../value/json-index.ts'
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
  member: 'value' | 'note' | 'emoji'
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
export function answerOf(question: Question, draft: Draft): Answer | undefined {
  const { json } = validateDraft(question.field, draft)
  if (json === undefined) return undefined
  const { type, annotationRef, member } = question
  return { type, ...(annotationRef && { annotationRef }), payload: `{"${member}":${json}}` }
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
