import type { Models } from '../../inference/registry.ts'
import type { GenerationMetrics } from './metrics.ts'

/** What every way of asking a model is given. */
export interface GenerationParts {
  models: Models
  settings: GenerationSettings
  metrics: GenerationMetrics
}

export interface GenerationSettings {
  /** Requests may say how urgent they are. */
  priority: boolean
  /** Requests may bring a template of their own. */
  requestTemplates: boolean
}
