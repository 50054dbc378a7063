import type { SamplingFields } from '../generation/sampling-fields.ts'
import type { Options } from './contract.ts'

/** What options mean in chat completions. */
export function samplingOf(options: Options | null | undefined): SamplingFields {
  const { temperature, top_p, top_k, min_p, seed, presence_penalty, frequency_penalty, stop } = options ?? {}
  const repetition = options?.repeat_last_n === 0 ? undefined : options?.repeat_penalty
  return {
    temperature,
    // The smallest share that is not none.
    top_p: top_p === 0 ? Number.MIN_VALUE : top_p,
    ...{ top_k, min_p, seed, presence_penalty, frequency_penalty, stop },
    repetition_penalty: repetition,
  }
}

/** As many as the context leaves, if undefined. */
export function maxTokensOf(options: Options | null | undefined): number | undefined {
  const count = options?.num_predict ?? 0
  return count > 0 ? count : undefined
}

/** Options that were given and have no effect, though they would change the answer at Ollama. */
export function ignoredOptions(options: Options | null | undefined, context: number): string[] {
  const { num_ctx, repeat_last_n, repeat_penalty } = options ?? {}
  const isPenalized = repeat_penalty != null && repeat_penalty !== 1
  return [
    ...(num_ctx != null && context > 0 && num_ctx > context ? ['options.num_ctx'] : []),
    ...(repeat_last_n != null && repeat_last_n > 0 && isPenalized ? ['options.repeat_last_n'] : []),
  ]
}
