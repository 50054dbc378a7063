import type { ScorerBody } from '../../server/scorers.ts'
import type { Direction } from '../../value/direction.ts'
import { type CheckKind, type CheckValues, checkOf, checkProblem, usualChecks } from './check-form.tsx'

/** What a user enters for a judge or a check. */
export interface ScorerDraft {
  kind: 'judge' | 'questions' | CheckKind
  prompt: string
  system: string
  answer: keyof typeof answerTexts
  direction: Direction
  model: string
  /** Of typed questions: the model also writes why. */
  isReasoned: boolean
  /** Questions, a line each. */
  wanted: string
  /** Of checks. */
  values: CheckValues
  /** The field that a check looks at. */
  field: string
}

const withReason = (properties: object) => ({
  type: 'object',
  // The reason comes first, so that the verdict follows from it.
  properties: { reason: { type: 'string', maxLength: 400 }, ...properties },
  required: ['reason', ...Object.keys(properties)],
})

/** What a judge may answer. */
export const answerTexts = {
  passed: 'Yes or no',
  grade: 'A grade from 1 to 5',
  score: 'A score from 0 to 1',
}

const answerSchemas = {
  passed: withReason({ passed: { type: 'boolean' } }),
  grade: withReason({ grade: { type: 'integer', minimum: 1, maximum: 5 } }),
  score: withReason({ score: { type: 'number', minimum: 0, maximum: 1 } }),
}

export const newDraft: ScorerDraft = {
  kind: 'judge',
  prompt:
    'Question: {inputs.messages.0.content}\n\nAnswer: {output.choices.0.message.content}\n\nIs the answer correct and helpful?',
  system: '',
  answer: 'passed',
  direction: 'higher',
  model: '',
  isReasoned: false,
  wanted: '',
  values: usualChecks,
  field: 'output.choices.0.message.content',
}

export function bodyOf(draft: ScorerDraft): ScorerBody {
  const { kind, prompt, system, answer, model, isReasoned, wanted, values, field } = draft
  switch (kind) {
    case 'judge':
      return {
        judge: {
          prompt,
          schema: answerSchemas[answer],
          ...(system.trim() !== '' && { system }),
          ...(model !== '' && { model }),
        },
      }
    case 'questions':
      return {
        judge: {
          ...{ prompt, questions: questionsIn(wanted) },
          ...(isReasoned && { reason: true }),
          ...(model !== '' && { model }),
        },
      }
    default:
      return { check: checkOf(kind, values, field) }
  }
}

/** A line each: `rude: Is it rude?`, `topic: Which topic? | law | other`, `good: How good? < bad < fair < good`. */
function questionsIn(text: string): object[] {
  return text.split('\n').flatMap((line) => {
    if (line.trim() === '') return []
    const [, name = '', rest = line] = /^\s*(\w+)\s*:(.*)$/.exec(line) ?? []
    const type = rest.includes('|') ? 'choice' : rest.includes('<') ? 'score' : 'predicate'
    const [instructions, ...options] = rest.split(/[|<]/).map((piece) => piece.trim())
    return {
      ...{ type, name, instructions },
      ...(type === 'choice' && { choices: options.map((value) => ({ value })) }),
      ...(type === 'score' && { levels: options.map((label) => ({ label })) }),
    }
  })
}

/** What is wrong or still to be filled in. */
export const problemOf = ({ kind, prompt, wanted, values }: ScorerDraft): string | undefined =>
  kind === 'judge' || kind === 'questions'
    ? prompt.trim() === ''
      ? 'Write what the model is asked.'
      : kind === 'questions' && wanted.trim() === ''
        ? 'Write a question.'
        : undefined
    : checkProblem(kind, values)
