import type { FinishReason } from '../../inference/backend.ts'

/** `left`: its client did not wait. `failed`: the engine ended in the middle. */
export type Outcome = 'answered' | 'left' | 'failed'

export interface EndOfGeneration {
  outcome: Outcome
  /** One for each choice that came to its end. */
  finishReasons: FinishReason[]
  /** Of all choices together. */
  completionTokens: number
  /** From the arrival of the request. */
  seconds: number
  /** Of these the ones until the prompt had been read, when it came to that. */
  prefilledSeconds?: number
}

/** What is counted about completions. Times are in seconds; names of models are no labels, since one server has one. */
export interface GenerationMetrics {
  /** The prompt has been read: the time since the request arrived, and how much of it the engine's queue took. */
  prefilled(seconds: number, tokens: { prompt: number; cached: number }, queuedSeconds?: number): void
  /** From the arrival of the request to the first token of any choice. */
  firstToken(seconds: number): void
  /** Between two tokens of one choice. */
  betweenTokens(seconds: number): void
  ended(end: EndOfGeneration): void
}

export const noMetrics: GenerationMetrics = {
  prefilled() {},
  firstToken() {},
  betweenTokens() {},
  ended() {},
}
