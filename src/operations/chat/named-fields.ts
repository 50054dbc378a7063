import { Refusal, refuse } from '../../domain/refusals.ts'

/** The backend knows that a request has nothing to read, or is too long for the context, but not which field made it so. */
export function namingTheField(error: unknown, fields: { prompt: string; answer: string }): unknown {
  if (!(error instanceof Refusal)) return error
  if (error.code === 'prompt_empty') return refuse(error.code, { field: fields.prompt })
  if (error.code !== 'context_length_exceeded') return error
  const { limit, answer } = error.values
  const isAnswer = typeof answer === 'number' && answer >= Number(limit)
  return refuse(error.code, { ...error.values, field: isAnswer ? fields.answer : fields.prompt })
}
