import { basename } from 'node:path'
import type { Config } from '../../config.ts'
import type { Adapter } from '../embedded/protocol.ts'
import { type GgufHeader, readGgufHeader } from './gguf-header.ts'
import { ModelError } from './model-error.ts'

/** Checks the adapters of the settings by their headers, before a model is loaded with them. Also returns their bytes. */
export async function checkAdapters(
  lora: Config['lora'],
  model: GgufHeader & { shownName: string; names: readonly string[] },
): Promise<{ adapters: Adapter[]; adapterBytes: number }> {
  let adapterBytes = 0
  for (const { name, path } of lora) {
    const refused = (why: string, accepted: string) =>
      new ModelError(`HEDDLE_LORA: given ${name}=${path}, ${why}; accepted: ${accepted}.`)
    if (model.names.includes(name)) {
      throw refused(`and ${model.shownName} already has that name`, 'another name')
    }
    if (model.pooling !== undefined) throw refused(`and ${model.shownName} pools`, 'models that write text')
    const header = await readGgufHeader(path)
    if (header.type !== 'adapter') {
      const what = `${basename(path)} is a file of the kind ${JSON.stringify(header.type ?? 'model')}`
      throw refused(`but ${what}`, 'GGUF files of adapters (convert_lora_to_gguf.py of llama.cpp)')
    }
    if (header.architecture !== model.architecture) {
      const of = `an adapter of the architecture ${header.architecture}`
      throw refused(`but it is ${of}`, `those of ${model.architecture}, as ${model.shownName} is`)
    }
    adapterBytes += header.fileBytes
  }
  return { adapters: lora.map(({ name, path }) => ({ name, file: path })), adapterBytes }
}
