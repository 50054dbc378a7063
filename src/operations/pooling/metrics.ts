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
  const requests = counter(
    'pooling_requests_total',
    'Requests for vectors, scores and decisions by outcome: answered, left (the client disconnected), failed.',
    'model_name',
    'of',
    'outcome',
  )
  const inputs = counter(
    'pooling_inputs_total',
    'Inputs of these requests: texts, documents with a query, and readings of questions.',
    'model_name',
    'of',
  )
  const tokens = counter(
    'pooling_tokens_total',
    'Tokens of the inputs of these requests.',
    'model_name',
    'of',
  )
  const help = 'Time from the request to its answer.'
  const seconds = histogram('pooling_request_seconds', help, buckets, 'model_name', 'of')
  return {
    ended(model_name, of, end) {
      requests.inc({ model_name, of, outcome: end.outcome })
      inputs.inc({ model_name, of }, end.inputs)
      tokens.inc({ model_name, of }, end.tokens)
      seconds.observe({ model_name, of }, end.seconds)
    },
  }
}
