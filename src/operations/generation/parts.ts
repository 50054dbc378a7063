import type { Caller } from '../../domain/callers.ts'
import type { Models } from '../../inference/registry.ts'
import type { Recorder } from '../recording/answer.ts'
import type { GenerationMetrics } from './metrics.ts'
import type { RunningAnswers } from './running.ts'

/** What every way of asking a model is given. */
export interface GenerationParts {
  models: Models
  settings: GenerationSettings
  metrics: GenerationMetrics
  recorder: Recorder
  /** What is answered at the moment. */
  running: RunningAnswers
  /** Hears of tokens as they are read and generated. */
  charge(caller: Caller, tokens: TokenCount): void
}

export interface TokenCount {
  prompt: number
  completion: number
}

export interface GenerationSettings {
  /** Requests may say how urgent they are. */
  priority: boolean
  /** Requests may bring a template of their own. */
  requestTemplates: boolean
  /** What tools without a `tool_choice` mean; with `none` nobody has any called. */
  toolChoice: 'auto' | 'none'
}
