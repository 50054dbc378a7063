import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { reasonOf } from '../../../packages/engine/index.ts'
import type { KeyEntry } from './models-file.ts'

/** A file that a setting names cannot be used; the message has one line for each error. */
class SettingsFileError extends Error {
  override readonly name = 'SettingsFileError'
}

export const settingsError = (path: string, lines: readonly string[]): Error =>
  new SettingsFileError(lines.map((line) => `${path}: ${line}`).join('\n'))

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

/** The JSON value of a file; `described` is where its fields are. */
export async function readSettings(path: string, described: string): Promise<unknown> {
  const text = await textOf(path, maxBytes).catch((error: unknown) => {
    throw settingsError(path, [`${reasonOf(error)}; accepted: the path of a JSON file (${described}).`])
  })
  return jsonOf(text, path)
}

function jsonOf(text: string, path: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''))
  } catch (error) {
    // Without the excerpt that the parser shows: it may contain a key.
    const why = (error as Error).message.replace(/, (\.\.\.)?".*$/s, '')
    throw settingsError(path, [`it is not JSON: ${why}; accepted: a JSON object.`])
  }
}

interface SecretReading {
  /** The field that names the secret. */
  where: string
  /** Where relative paths start. */
  folder: string
  environment: Readonly<Record<string, string | undefined>>
  /** Gets a line for each error. */
  wrong: string[]
}

export async function readSecret(
  { env, file }: KeyEntry,
  { where, folder, environment, wrong }: SecretReading,
): Promise<string | undefined> {
  let key: string
  if (env !== undefined) key = environment[env] ?? ''
  else {
    const from = resolve(folder, file as string)
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
