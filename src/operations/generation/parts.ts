import type { Caller } from '../../domain/callers.ts'
import type { JsonText } from '../../domain/json/text.ts'
import type { Models } from '../../inference/registry.ts'
import type { Recorder } from '../recording/answer.ts'
import type { GenerationContext } from './generation.ts'
import type { GenerationMetrics } from './metrics.ts'
import type { PromptSharing } from './prompt-group.ts'
import type { RunningAnswers } from './running.ts'

/** What every generation endpoint needs. */
export interface GenerationParts {
  models: Models
  settings: GenerationSettings
  metrics: GenerationMetrics
  recorder: Recorder
  /** The answers that are running now. */
  running: RunningAnswers
  /** Called as tokens are computed and generated. */
  charge(caller: Caller, tokens: TokenCount): void
}

export interface TokenCount {
  prompt: number
  completion: number
}

export interface GenerationSettings {
  /** Whether requests may set their priority. */
  priority: boolean
  /** Whether requests may contain a template of their own. */
  requestTemplates: boolean
  /** The default of `tool_choice` for requests with tools; with `none`, no request may have tools called. */
  toolChoice: 'auto' | 'none'
  promptSharing: PromptSharing
}

/** The first answer to a chat, without its stream. */
export interface ChatAnswered {
  /** The model that answered. */
  model: string
  /** The text; the calls of tools where there is none. */
  output: JsonText
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number }
}

/** For work of the server that asks as clients do. `request` is the body of a chat completion, as JSON. */
export interface ChatAsking {
  /** The model that it names. Refuses what the contract refuses. */
  modelOf(request: string): string | null | undefined
  ask(services: GenerationParts, request: string, asking: GenerationContext): Promise<ChatAnswered>
}
