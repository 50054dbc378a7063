import { ModelError } from '../models/model-error.ts'
import type { ManySettings } from './listed-model.ts'
import type { ModelEntry } from './models-file.ts'

/** An entry of the list with a model of this machine. */
export type LocalEntry = ModelEntry & { file: string }

/** What the entry says, and where it says nothing the settings of the server. */
export function settingsOf<Settings extends Pick<ManySettings, 'model' | 'model_name'>>(
  entry: LocalEntry,
  settings: Settings,
): Settings {
  const { name, aliases = [], file, context, parallel, threads, batch, lora = {} } = entry
  return {
    ...settings,
    model: file,
    model_name: [name, ...aliases],
    lora: Object.entries(lora).map(([adapter, path]) => ({ name: adapter, path })),
    ...(context !== undefined && { context }),
    ...(parallel !== undefined && { parallel }),
    ...(threads !== undefined && { threads }),
    ...(batch !== undefined && { batch }),
  }
}

/** Messages name the field of the file where that was given, and the setting otherwise. */
export function inWordsOf(entry: ModelEntry, error: ModelError): ModelError {
  const message = error.message.replace(
    /HEDDLE_(CONTEXT|PARALLEL|THREADS|BATCH|LORA)\b/g,
    (setting, of: string) => {
      const field = of.toLowerCase() as 'context' | 'parallel' | 'threads' | 'batch' | 'lora'
      return entry[field] === undefined ? setting : field
    },
  )
  return new ModelError(message, { mayPass: error.mayPass, cause: error })
}
