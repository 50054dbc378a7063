import { z } from 'zod'
import { explainedObject } from '../../domain/fields.ts'

/** What happened to a request, in milliseconds since it arrived. */
export interface AnswerTimes {
  /** How long it waited for the engine; unknown of a server elsewhere. */
  queued?: number
  first?: number
  last?: number
  /** Of all choices. */
  tokens: number
}

const time = z.number().min(0).nullable()

/** As vLLM has them, if the setting asks for them. */
export const RequestMetrics = explainedObject({
  queue_time_ms: [time, 'In the queue of the engine; null of a server elsewhere.'],
  time_to_first_token_ms: [time, 'From there, or from the arrival of the request, to the first token.'],
  generation_time_ms: [time, 'From the first token to the last.'],
  mean_itl_ms: [time, 'The mean time between two tokens of a choice; null if no choice has two.'],
  tokens_per_second: [time, 'The tokens after the first of each choice, by `generation_time_ms`.'],
})

export function metricsOf(
  { queued, first, last, tokens }: AnswerTimes,
  choices: number,
): z.output<typeof RequestMetrics> {
  const generation = first === undefined || last === undefined ? null : last - first
  const later = tokens - choices
  const isTimed = generation !== null && generation > 0 && later > 0
  return {
    queue_time_ms: queued ?? null,
    time_to_first_token_ms: first === undefined ? null : Math.max(0, first - (queued ?? 0)),
    generation_time_ms: generation,
    mean_itl_ms: isTimed ? (generation * choices) / later : null,
    tokens_per_second: isTimed ? (later * 1_000) / generation : null,
  }
}

/** The member of the whole answer, or of the last chunk. */
export const metricsMember = ({
  requestMetrics,
}: {
  requestMetrics?: () => z.output<typeof RequestMetrics>
}): { metrics?: z.output<typeof RequestMetrics> } =>
  requestMetrics === undefined ? {} : { metrics: requestMetrics() }
