import { cacheSizeOf, diskSizeOf } from '../../domain/byte-sizes.ts'
import { ModelError } from '../models/model-error.ts'
import type { ManySettings } from './listed-model.ts'
import type { ModelEntry } from './models-file.ts'

/** An entry of the list with a model of this machine. */
export type LocalEntry = ModelEntry & { file: string }

/** Fields that are settings of the same name and the same values. */
const asGiven = [
  'context',
  'parallel',
  'threads',
  'batch',
  'speculation',
  'kv_keys',
  'kv_values',
  'flash_attention',
] as const

const named = [...asGiven, 'lora', 'prompt_cache', 'prompt_cache_disk'] as const

/** What the entry says, and where it says nothing the settings of the server. */
export function settingsOf<Settings extends Pick<ManySettings, 'model' | 'model_name'>>(
  entry: LocalEntry,
  settings: Settings,
): Settings {
  const { name, aliases = [], file, lora = {}, prompt_cache, prompt_cache_disk } = entry
  return {
    ...settings,
    model: file,
    model_name: [name, ...aliases],
    lora: Object.entries(lora).map(([adapter, path]) => ({ name: adapter, path })),
    ...Object.fromEntries(
      asGiven.flatMap((field) => (entry[field] === undefined ? [] : [[field, entry[field]]])),
    ),
    ...(prompt_cache !== undefined && { prompt_cache: cacheSizeOf(prompt_cache) }),
    ...(prompt_cache_disk !== undefined && { prompt_cache_disk: diskSizeOf(prompt_cache_disk) }),
  }
}

/** Messages name the field of the file where that was given, and the setting otherwise. */
export function inWordsOf(entry: ModelEntry, error: ModelError): ModelError {
  const message = error.message.replace(/HEDDLE_([A-Z_]+)\b/g, (setting, of: string) => {
    const field = named.find((one) => one === of.toLowerCase())
    return field === undefined || entry[field] === undefined ? setting : field
  })
  return new ModelError(message, { mayPass: error.mayPass, cause: error })
}
