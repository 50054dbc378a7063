import { createHash } from 'node:crypto'

/**
 * The contents of the records that `scale.ts` measures. Everything follows from the number of a call, so that any run
 * knows its ids.
 */

export const project_id = 'bench/scale'
export const batchSize = 200
const text = 'The capital of Chad is on the right bank of the Chari where the Logone joins it. '.repeat(6)

/** A UUID of version 7 that sorts by the number. */
function idAt(time: number, name: string): string {
  const rest = createHash('sha256').update(name).digest('hex')
  const first = time.toString(16).padStart(12, '0')
  return `${first.slice(0, 8)}-${first.slice(8)}-7${rest.slice(0, 3)}-8${rest.slice(3, 6)}-${rest.slice(6, 18)}`
}

const begun = Date.UTC(2026, 0, 1)
const startOf = (n: number) => begun + 86_400_000 + n * 10

export const evaluation = idAt(begun, 'evaluation')
export const callId = (n: number): string => idAt(startOf(n), `call ${n}`)

export const root = {
  project_id,
  id: evaluation,
  trace_id: evaluation,
  op_name: 'Evaluation.evaluate',
  started_at: '2026-01-01T00:00:00Z',
  ended_at: '2026-01-03T00:00:00Z',
  attributes: {},
  inputs: { self: 'e', model: 'm' },
  output: {},
  summary: {},
}

/** One in ten calls is a trial of the evaluation, with its prediction. */
export function batchFrom(from: number, size = batchSize): object[] {
  return Array.from({ length: size }, (_, index) => {
    const n = from + index
    const id = callId(n)
    const isTrial = n % 10 === 0
    return {
      project_id,
      id,
      trace_id: isTrial ? evaluation : id,
      parent_id: isTrial ? evaluation : null,
      op_name: isTrial ? 'Evaluation.predict_and_score' : `op-${n % 20}`,
      started_at: new Date(startOf(n)).toISOString(),
      ended_at: new Date(startOf(n) + 500).toISOString(),
      attributes: {},
      inputs: isTrial ? { example: { n, question: text }, model: 'm' } : { n, question: text },
      output: isTrial ? { model_output: n, scores: { right: n % 3 === 0, near: (n % 100) / 100 } } : text,
      summary: {
        usage: { m: { prompt_tokens: n % 500, completion_tokens: 10, total_tokens: (n % 500) + 10 } },
      },
    }
  })
}
