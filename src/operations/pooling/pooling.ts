import type { Pooled, PoolingAsked, PoolingInput, Truncation } from '../../../packages/engine/index.ts'
import type { Caller } from '../../domain/callers.ts'
import type { FoundModel } from '../../inference/registry.ts'
import { bytesOfValue } from '../budgets/holding.ts'
import { type GenerationRecord, newRecord, noteFailure } from '../generation/observed.ts'
import type { GenerationParts } from '../generation/parts.ts'
import type { Recording } from '../recording/answer.ts'
import type { PoolingOf } from './metrics.ts'

export interface PoolingContext {
  caller: Caller
  /** When the request arrived, by `performance.now()`. */
  arrived: number
  /** Present if nobody waits for the answer. */
  lane?: 'background' | undefined
  traceparent?: string | undefined
  signal: AbortSignal
  /** The project that the answer belongs to, recorded or not. */
  project: string
  /** Receives what a header says about budgets that are nearly used up. */
  warn?: (text: string) => void
  /** Absent when the answer is not recorded. */
  recording?: Recording | undefined
  /** Receives the measurements when it ends. */
  note(record: GenerationRecord): void
}

/** The result of a model for all inputs, in their order. */
export interface PooledInputs {
  model: string
  values: Float32Array[]
  tokens: number
}

/** Asks a model that pools. No other model is ever asked in its place: vectors of two models cannot be compared. */
export async function poolWith(
  services: GenerationParts,
  { model, served }: FoundModel,
  of: PoolingOf,
  asked: PoolingAsked,
  context: PoolingContext,
): Promise<PooledInputs> {
  const name = served.names[0] as string
  const { traceparent } = context
  const values = new Array<Float32Array>(asked.inputs.length)
  const bound = asked.inputs.reduce((sum, input) => sum + mostTokens(input, asked.truncate), 0)
  const { tokens } = await whileMeasured(services, name, of, context, bound, async (progress) => {
    function each(pooled: Pooled): void {
      values[pooled.input] = pooled.values
      progress.inputs++
      progress.read({ prompt: pooled.tokens, cached: 0 })
    }
    const { tokens } = await model.pool(
      { ...asked, ...(traceparent && { traceparent }) },
      each,
      context.signal,
    )
    progress.read({ prompt: tokens ?? 0, cached: 0 })
  })
  return { model: name, values, tokens: tokens.prompt }
}

/** Around a text, and between the texts of a pair. */
const specialTokens = 8

function mostTokens(input: PoolingInput, truncate: Truncation | undefined): number {
  const most = 'tokens' in input ? input.tokens.length : bytesOfValue(input) + specialTokens
  return truncate === undefined || truncate.tokens < 0
    ? most
    : Math.min(most, truncate.tokens + specialTokens)
}

interface ReadTokens {
  prompt: number
  cached: number
  /** Of thoughts: nothing else is written. */
  written?: number
}

export interface Progress {
  inputs: number
  read(tokens: ReadTokens): void
}

/** Measures what a model reads without an answer of its own, at most `bound` tokens, and charges the caller for it. */
export async function whileMeasured<Result>(
  { metrics, running, charge, budgets }: GenerationParts,
  name: string,
  of: PoolingOf,
  context: PoolingContext,
  bound: number,
  work: (progress: Progress) => Promise<Result>,
  maxWritten = 0,
): Promise<{ result: Result; tokens: Required<ReadTokens> }> {
  const { caller, arrived, signal, note, recording } = context
  const reserve = await budgets.of(context)
  const hold = await reserve?.([name], { prompt: bound, completion: maxWritten })
  const record = newRecord(name)
  const answer = running.begin({
    model: name,
    user: caller.name,
    isBackground: context.lane === 'background',
  })
  const progress: Progress = {
    inputs: 0,
    read({ prompt, cached, written = 0 }) {
      if (prompt === 0 && written === 0) return
      record.prompt_tokens += prompt
      record.cached_tokens += cached
      record.completion_tokens += written
      charge(caller, { prompt, completion: written })
      running.read(answer, { prompt, cached })
    },
  }
  try {
    const result = await work(progress)
    record.outcome = 'answered'
    const { prompt_tokens: prompt, cached_tokens: cached, completion_tokens: written } = record
    return { result, tokens: { prompt, cached, written } }
  } catch (error) {
    noteFailure(record, error, signal)
    throw error
  } finally {
    running.end(answer)
    hold?.settle(name, { prompt: record.prompt_tokens, completion: record.completion_tokens }, recording)
    record.total_ms = performance.now() - arrived
    // A request that is refused before anything is read counts only as a refusal.
    if (record.outcome === 'answered' || progress.inputs > 0) {
      const { outcome, prompt_tokens: tokens, total_ms } = record
      metrics.pooling.ended(name, of, { outcome, inputs: progress.inputs, tokens, seconds: total_ms / 1000 })
      note(record)
    }
  }
}
