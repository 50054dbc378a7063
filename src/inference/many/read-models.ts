import { dirname, resolve } from 'node:path'
import { checkModels, type KeyEntry, type ModelEntry, type UpstreamEntry } from './models-file.ts'
import { readSecret, readSettings, settingsError } from './settings-file.ts'

/** A server behind this one, with its keys. */
export interface UpstreamSpec extends Omit<UpstreamEntry, 'addresses' | 'key'> {
  addresses: { url: string; weight: number; key?: string }[]
}

/** The content of a file, with its paths and keys resolved. */
export interface ModelsSpec {
  default?: string
  models: ModelEntry[]
  upstreams: UpstreamSpec[]
  /** Every file that was read for it. */
  files: string[]
}

export async function readModels(
  path: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<ModelsSpec> {
  const value = await readSettings(path, 'docs/many-models.md')
  const checked = checkModels(value)
  if ('wrong' in checked) throw settingsError(path, checked.wrong)
  const { file } = checked
  const folder = dirname(resolve(path))
  const wrong: string[] = []
  const files = [resolve(path)]

  async function keyOf(entry: KeyEntry, where: string): Promise<string | undefined> {
    if (entry.file !== undefined) files.push(resolve(folder, entry.file))
    return readSecret(entry, { where, folder, environment, wrong })
  }

  async function upstreamOf(
    { addresses, key, ...entry }: UpstreamEntry,
    index: number,
  ): Promise<UpstreamSpec> {
    const path = `upstreams[${index}]`
    const shared = key && (await keyOf(key, `${path}.key`))
    const found: UpstreamSpec['addresses'] = []
    for (const [at, address] of addresses.entries()) {
      const entry = typeof address === 'string' ? { url: address } : address
      const own = entry.key && (await keyOf(entry.key, `${path}.addresses[${at}].key`))
      const used = own ?? shared
      found.push({
        url: entry.url.replace(/\/+$/, ''),
        weight: entry.weight ?? 1,
        ...(used !== undefined && { key: used }),
      })
    }
    return { ...entry, addresses: found }
  }

  const upstreams: UpstreamSpec[] = []
  for (const [index, entry] of (file.upstreams ?? []).entries())
    upstreams.push(await upstreamOf(entry, index))
  if (wrong.length > 0) throw settingsError(path, wrong)
  const models = (file.models ?? []).map((model) => located(model, folder))
  return { ...(file.default !== undefined && { default: file.default }), models, upstreams, files }
}

function located(model: ModelEntry, folder: string): ModelEntry {
  const { file, lora } = model
  if (file === undefined) return model
  const isPath = file !== 'builtin' && !file.startsWith('hf:')
  const adapters = Object.entries(lora ?? {}).map(([name, path]) => [name, resolve(folder, path)])
  return {
    ...model,
    ...(isPath && { file: resolve(folder, file) }),
    ...(lora && { lora: Object.fromEntries(adapters) }),
  }
}
