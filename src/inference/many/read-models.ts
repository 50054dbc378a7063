import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { reasonOf } from '../../../packages/engine/index.ts'
import { checkModels, type KeyEntry, type ModelEntry, type UpstreamEntry } from './models-file.ts'

/** The file of HEDDLE_MODELS cannot be used; the message has one line for each error. */
class ModelsFileError extends Error {
  override readonly name = 'ModelsFileError'
}

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

/** No settings file and no key is longer. */
const maxBytes = 4 * 1024 * 1024
const maxKeyBytes = 64 * 1024

/** Only regular files: reading a pipe would block, and a device has no end. */
async function textOf(path: string, most: number): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = await file.stat()
    if (!found.isFile()) throw new Error('it is not a file')
    if (found.size > most) throw new Error(`it has ${found.size} bytes, at most ${most} are accepted`)
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

export async function readModels(
  path: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<ModelsSpec> {
  const failed = (lines: readonly string[]) =>
    new ModelsFileError(lines.map((line) => `${path}: ${line}`).join('\n'))
  let text: string
  try {
    text = await textOf(path, maxBytes)
  } catch (error) {
    throw failed([`${reasonOf(error)}; accepted: the path of a JSON file (docs/many-models.md).`])
  }
  const checked = checkModels(jsonOf(text, failed))
  if ('wrong' in checked) throw failed(checked.wrong)
  const { file } = checked
  const folder = dirname(resolve(path))
  const wrong: string[] = []
  const files = [resolve(path)]

  async function keyOf({ env, file: keyFile }: KeyEntry, where: string): Promise<string | undefined> {
    let key: string
    if (env !== undefined) key = environment[env] ?? ''
    else {
      const from = resolve(folder, keyFile as string)
      files.push(from)
      key = await textOf(from, maxKeyBytes).catch((error: unknown) => {
        wrong.push(`${where}.file: given ${from}, but ${reasonOf(error)}; accepted: a file with a key in it.`)
        return 'unread'
      })
    }
    if (/^[\x21-\x7e]+$/.test(key.trim())) return key.trim()
    const [field, what] = env === undefined ? ['file', 'a file'] : ['env', `the environment variable ${env}`]
    const state = key.trim() === '' ? 'empty or not set' : 'not a key'
    wrong.push(`${where}.${field}: given ${what} that is ${state}; accepted: a key without spaces.`)
    return undefined
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
  if (wrong.length > 0) throw failed(wrong)
  const models = (file.models ?? []).map((model) => located(model, folder))
  return { ...(file.default !== undefined && { default: file.default }), models, upstreams, files }
}

function jsonOf(text: string, failed: (lines: string[]) => Error): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''))
  } catch (error) {
    // Without the excerpt that the parser shows: it may contain a key.
    const why = (error as Error).message.replace(/, (\.\.\.)?".*$/s, '')
    throw failed([`it is not JSON: ${why}; accepted: a JSON object.`])
  }
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
