import type { ScorerBody } from '../../server/scorers.ts'
import type { Direction } from '../../value/direction.ts'

/** What a user enters for a judge or a check. */
export interface ScorerDraft {
  kind: 'judge' | 'questions' | 'contains' | 'regex' | 'latency'
  prompt: string
  system: string
  answer: keyof typeof answerTexts
  direction: Direction
  model: string
  /** Of typed questions: the model also writes why. */
  isReasoned: boolean
  /** Questions or texts, a line each; a pattern; or milliseconds. */
  wanted: string
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
  field: 'output.choices.0.message.content',
}

export function bodyOf(draft: ScorerDraft): ScorerBody {
  const { kind, prompt, system, answer, model, isReasoned, wanted, field } = draft
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
    case 'contains':
      return {
        check: { kind, any_of: wanted.split('\n').filter((line) => line !== ''), ignore_case: true, field },
      }
    case 'regex':
      return { check: { kind, pattern: wanted, field } }
    case 'latency':
      return { check: { kind, max_ms: Number(wanted) } }
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

export const isComplete = ({ kind, prompt, wanted }: ScorerDraft): boolean =>
  kind === 'judge'
    ? prompt.trim() !== ''
    : kind === 'latency'
      ? /^\d+$/.test(wanted.trim())
      : wanted.trim() !== ''
