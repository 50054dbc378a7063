import type { Caller } from '../../domain/callers.ts'
import { Refusal } from '../../domain/refusals.ts'
import { hasLeft } from '../../http/disconnect.ts'
import type { Pooled, PoolingAsked } from '../../inference/pooling.ts'
import type { FoundModel } from '../../inference/registry.ts'
import type { GenerationRecord } from '../generation/observed.ts'
import type { GenerationParts } from '../generation/parts.ts'
import type { PoolingOf } from './metrics.ts'

export interface PoolingContext {
  caller: Caller
  /** When the request arrived, by `performance.now()`. */
  arrived: number
  signal: AbortSignal
  /** Receives the measurements when it ends. */
  note(record: GenerationRecord): void
}

/** The result of a model for all inputs, in their order. */
export interface PooledInputs {
  model: string
  values: Float32Array[]
  tokens: number
}

/**
 * Asks a model that pools, measures it, and charges the caller for what was read. No other model is ever asked in its
 * place: vectors of two models cannot be compared.
 */
export async function poolWith(
  { metrics, running, charge }: GenerationParts,
  { model, served }: FoundModel,
  of: PoolingOf,
  asked: PoolingAsked,
  { caller, arrived, signal, note }: PoolingContext,
): Promise<PooledInputs> {
  const name = served.names[0] as string
  const values = new Array<Float32Array>(asked.inputs.length)
  const record: GenerationRecord = {
    model: name,
    outcome: 'left',
    prompt_tokens: 0,
    cached_tokens: 0,
    completion_tokens: 0,
    finish_reasons: [],
    total_ms: 0,
  }
  let inputs = 0
  const answer = running.begin({ model: name, user: caller.name, isBackground: false })

  function read(tokens: number): void {
    if (tokens === 0) return
    record.prompt_tokens += tokens
    charge(caller, { prompt: tokens, completion: 0 })
    running.read(answer, { prompt: tokens, cached: 0 })
  }

  function each(pooled: Pooled): void {
    values[pooled.input] = pooled.values
    inputs++
    read(pooled.tokens)
  }

  try {
    const { tokens } = await model.pool(asked, each, signal)
    read(tokens ?? 0)
    record.outcome = 'answered'
    return { model: name, values, tokens: record.prompt_tokens }
  } catch (error) {
    if (!hasLeft(signal)) {
      record.outcome = 'failed'
      record.code = error instanceof Refusal ? error.code : 'internal_error'
    }
    throw error
  } finally {
    running.end(answer)
    record.total_ms = performance.now() - arrived
    // A request that is refused before anything is read counts only as a refusal.
    if (record.outcome === 'answered' || inputs > 0) {
      const { outcome, prompt_tokens: tokens, total_ms } = record
      metrics.pooling.ended(of, { outcome, inputs, tokens, seconds: total_ms / 1000 })
      note(record)
    }
  }
}
