import type { Caller } from '../../domain/callers.ts'
import type { TokenCount } from '../../domain/money.ts'
import type { Models } from '../../inference/registry.ts'
import type { Database } from '../../storage/database.ts'
import type { Budgets } from '../budgets/spending.ts'
import type { NamedPrompts } from '../prompts/named-prompts.ts'
import type { Recorder } from '../recording/answer.ts'
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
  budgets: Budgets
  /** Called as tokens are computed and generated. */
  charge(caller: Caller, tokens: TokenCount): void
  /** The record, of which the prompts are. */
  db: Database
  prompts: NamedPrompts
}

export interface GenerationSettings {
  /** Whether requests may set their priority. */
  priority: boolean
  /** Whether requests may contain a template of their own. */
  requestTemplates: boolean
  /** The default of `tool_choice` for requests with tools; with `none`, no request may have tools called. */
  toolChoice: 'auto' | 'none'
  promptSharing: PromptSharing
  /** Whether answers say how long they took. */
  requestMetrics: boolean
}
