import { Counter, Histogram, type Registry } from '@prometheus-io/client'

/** The requests to models that read and write nothing. */
export type PoolingOf = 'embeddings' | 'rerank' | 'decisions'

export interface PoolingMetrics {
  ended(of: PoolingOf, end: EndOfPooling): void
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
  const registers = [registry]
  const counter = (name: string, help: string) =>
    new Counter({ name: `heddle_pooling_${name}`, help, labelNames: ['of'] as const, registers })
  const requests = new Counter({
    name: 'heddle_pooling_requests_total',
    help: 'Requests for vectors, scores and decisions by outcome: answered, left (the client disconnected), failed.',
    labelNames: ['of', 'outcome'] as const,
    registers,
  })
  const inputs = counter(
    'inputs_total',
    'Inputs of these requests: texts, documents with a query, and readings of questions.',
  )
  const tokens = counter('tokens_total', 'Tokens of the inputs of these requests.')
  const seconds = new Histogram({
    name: 'heddle_pooling_request_seconds',
    help: 'Time from the request to its answer.',
    labelNames: ['of'] as const,
    buckets,
    registers,
  })
  return {
    ended(of, end) {
      requests.inc({ of, outcome: end.outcome })
      inputs.inc({ of }, end.inputs)
      tokens.inc({ of }, end.tokens)
      seconds.observe({ of }, end.seconds)
    },
  }
}
