import { ModelError } from '../../../packages/engine/index.ts'
import { cacheSizeOf, diskSizeOf } from '../../domain/byte-sizes.ts'
import type { ManySettings } from './listed-model.ts'
import type { ModelEntry } from './models-file.ts'

/** An entry of the list with a model that runs on this machine. */
export type LocalEntry = ModelEntry & { file: string }

/** Fields that have the name and the values of a setting. */
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

/** The settings of an entry; those that it does not give are the server's. */
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

/** Messages name the field of the file if it was given, and the setting otherwise. */
export function inWordsOf(entry: ModelEntry, error: ModelError): ModelError {
  const message = error.message.replace(/HEDDLE_([A-Z_]+)\b/g, (setting, of: string) => {
    const field = named.find((name) => name === of.toLowerCase())
    return field === undefined || entry[field] === undefined ? setting : field
  })
  return new ModelError(message, { isTemporary: error.isTemporary, cause: error })
}
