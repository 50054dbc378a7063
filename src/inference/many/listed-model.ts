import type { Config } from '../../config.ts'
import type { Model } from '../model.ts'
import type { ModelLocations } from '../models/find.ts'
import type { ModelSettings } from '../models/plan.ts'

/** A model that can be taken out of the list of those that are served. */
export interface ListedModel extends Model {
  /** Takes nothing more, and resolves when what runs has ended and its memory is free. */
  retire(): Promise<void>
  /** Only another try, or another file, may help. */
  isStuck(): boolean
}

export type ManySettings = ModelSettings &
  ModelLocations &
  Pick<Config, 'models' | 'models_memory' | 'unknown_keywords' | 'upstream_timeout'>
