import type { ModelLocations, ModelSettings } from '../../../packages/engine/index.ts'
import type { Config } from '../../config.ts'
import type { Model } from '../model.ts'

/** A model that can be removed from the list of served models. */
export interface ListedModel extends Model {
  /** Accepts no new requests, and resolves when the running ones have ended and its memory is free. */
  retire(): Promise<void>
  /** It can only be served after another attempt, or with another file. */
  isStuck(): boolean
}

export type ManySettings = ModelSettings &
  ModelLocations &
  Pick<Config, 'models' | 'models_memory' | 'unknown_keywords' | 'upstream_timeout'>
