import type { Registry } from '@prometheus-io/client'
import { createMeters } from '../../http/metrics.ts'

/** The requests to models that read and write nothing. */
export type PoolingOf = 'embeddings' | 'rerank' | 'decisions'

export interface PoolingMetrics {
  ended(model_name: string, of: PoolingOf, end: EndOfPooling): void
}

interface EndOfPooling {
  outcome: 'answered' | 'left' | 'failed'
  /** Inputs that were read. */
  inputs: number
  tokens: number
  /** From the arrival of the request. */
  seconds: number
}

const buckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300]

export function registerPoolingMetrics(registry: Registry): PoolingMetrics {
  const { counter, histogram } = createMeters(registry)
  const by = ['model_name', 'of'] as const
  const requests = counter(
    'pooling_requests_total',
    'Requests for vectors, scores and decisions by outcome: answered, left (the client disconnected), failed.',
    ...[...by, 'outcome' as const],
  )
  const read = 'Inputs of these requests: texts, documents with a query, and readings of questions.'
  const inputs = counter('pooling_inputs_total', read, ...by)
  const tokens = counter('pooling_tokens_total', 'Tokens of the inputs of these requests.', ...by)
  const seconds = histogram('pooling_request_seconds', 'Time from the request to its answer.', buckets, ...by)
  return {
    ended(model_name, of, end) {
      requests.inc({ model_name, of, outcome: end.outcome })
      inputs.inc({ model_name, of }, end.inputs)
      tokens.inc({ model_name, of }, end.tokens)
      seconds.observe({ model_name, of }, end.seconds)
    },
  }
}
