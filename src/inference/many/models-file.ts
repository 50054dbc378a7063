import { z } from 'zod'
import { kvChoices } from '../../../packages/engine/index.ts'
import { acceptedCacheSize, acceptedDiskSize, cacheSizeOf, diskSizeOf } from '../../domain/byte-sizes.ts'
import { described } from '../../domain/described.ts'
import { nearestName } from '../../domain/nearest.ts'
import { maxModels } from '../../domain/user-settings.ts'

/**
 * The file of HEDDLE_MODELS: the models of a server, and the servers behind it. Each message says what would be
 * accepted.
 */

const whole = (least: number, most: number) => {
  const error = `a whole number from ${least} to ${most}`
  return z.int({ error }).min(least, { error }).max(most, { error })
}

export const text = (error: string, most = 4096) => z.string({ error }).min(1, { error }).max(most, { error })

const list = <Entry extends z.ZodType>(entry: Entry, most: number, error: string) =>
  z.array(entry, { error }).max(most, { error })

const nameIssue = { error: 'a name without spaces, of at most 256 characters' }
const name = z.string(nameIssue).regex(/^[^\s\0]{1,256}$/, nameIssue)

const oneOf = (names: readonly string[]) => ({ error: names.join(', ') })

export const Key = z
  .strictObject(
    {
      env: z
        .string({ error: 'the name of an environment variable' })
        .regex(/^[A-Za-z_][A-Za-z0-9_]{0,255}$/, { error: 'the name of an environment variable' })
        .optional()
        .describe('The environment variable that has the key.'),
      file: text('the path of a file')
        .optional()
        .describe('The file that has the key; a relative path starts at the folder of this file.'),
    },
    { error: issueOfKey },
  )
  .refine((key) => (key.env === undefined) !== (key.file === undefined), {
    error: '{"env": "NAME"} or {"file": "path"}, one of both',
    abort: true,
  })

/** A key written in the file itself is refused without being shown. */
function issueOfKey({ code }: { code?: string }): string | undefined {
  return code === 'invalid_type'
    ? '{"env": "NAME"} or {"file": "path"}; keys are not written in this file'
    : undefined
}

const url = z
  .string({ error: 'an address such as https://host/v1' })
  .refine(isAddress, { error: 'an address such as https://host/v1, without a user, a query or a fragment' })
  .describe('Where the server is, with `/v1`.')

const Address = z.strictObject({
  url,
  weight: z
    .number({ error: 'a number above 0, at most 1000' })
    .positive({ error: 'a number above 0, at most 1000' })
    .max(1000, { error: 'a number above 0, at most 1000' })
    .optional()
    .describe('Its share of the requests, relative to the other addresses; 1 by default.'),
  key: Key.optional().describe('The key for this address, where it differs from that of the upstream.'),
})

const timeout = whole(100, 3_600_000).optional()
const retries = whole(0, 5).optional()

const upstreamKinds = ['auto', 'heddle', 'vllm', 'llama-server', 'openai', 'anthropic'] as const

const Upstream = z.strictObject({
  name: name.describe('The name by which models of this file refer to it.'),
  addresses: list(
    z.union([url, Address], { error: 'an address such as https://host/v1, or {"url", "weight", "key"}' }),
    64,
    'a list of 1 to 64 addresses',
  )
    .min(1, { error: 'a list of 1 to 64 addresses' })
    .describe(
      'Where the same models are served. A prompt goes to the address that computed its beginning before, or to the one with the least load.',
    ),
  key: Key.optional().describe(
    'The key that is sent to the server. The keys of callers are never sent there.',
  ),
  kind: z
    .enum(upstreamKinds, oneOf(upstreamKinds))
    .optional()
    .describe(
      'The kind of the server, which decides what fields are passed on or refused. `auto`, which is the default, asks the server.',
    ),
  serves: z
    .enum(['named', 'all'], oneOf(['named', 'all']))
    .optional()
    .describe(
      '`all`: every model that it lists is served under its own name. `named`, which is the default: those that `models` names.',
    ),
  timeout: timeout.describe('Milliseconds that it may send nothing; HEDDLE_UPSTREAM_TIMEOUT by default.'),
  retries: retries.describe(
    'How often a request waits and is sent again where the only address answers 429 or 503 with a Retry-After of at most 5 seconds; 0 by default.',
  ),
  parallel: whole(1, 4096).optional().describe('Requests that are sent to it at once; 256 by default.'),
  queue: whole(0, 100_000).optional().describe('Requests that may wait; HEDDLE_QUEUE by default.'),
  context: whole(64, 16_777_216)
    .optional()
    .describe('Tokens that fit into a conversation, where the server does not report it.'),
})

const size = (read: (text: string) => unknown, error: string) =>
  z.string({ error }).refine((text) => read(text) !== undefined, { error })

const flashAttention = ['auto', 'on', 'off'] as const

const Model = z.strictObject({
  name: name.describe('The value of `model` in requests and answers.'),
  aliases: list(name, 64, 'a list of at most 64 names').optional().describe('Other names of the model.'),
  fallbacks: list(name, 16, 'a list of at most 16 names of models')
    .optional()
    .describe('Models that answer instead, in this order, when this one fails before its answer has begun.'),
  file: z
    .string({ error: modelFiles() })
    .refine((text) => isFile(text), { error: modelFiles() })
    .optional()
    .describe(
      'A model of this machine: `builtin`, `hf:<org>/<repo>[:<quant or file>]`, or the path of a .gguf file; a relative path starts at the folder of this file. It is loaded on demand.',
    ),
  context: whole(64, 16_777_216)
    .optional()
    .describe('Tokens that fit into a conversation; for a model with `file`, HEDDLE_CONTEXT by default.'),
  parallel: whole(1, 256).optional().describe('With `file`: as HEDDLE_PARALLEL.'),
  threads: whole(1, 1024).optional().describe('With `file`: as HEDDLE_THREADS.'),
  batch: whole(32, 8192).optional().describe('With `file`: as HEDDLE_BATCH.'),
  lora: z
    .record(name, text('the path of a .gguf file'), { error: 'an object of names and paths' })
    .optional()
    .describe(
      'With `file`: LoRA adapters, by the names under which they are served; a relative path starts at the folder of this file.',
    ),
  speculation: z
    .boolean({ error: 'true or false' })
    .optional()
    .describe('With `file`: whether tokens are guessed ahead, as HEDDLE_SPECULATION.'),
  prompt_cache: size(cacheSizeOf, acceptedCacheSize)
    .optional()
    .describe('With `file`: as HEDDLE_PROMPT_CACHE, such as `4GiB`, `auto` or `off`.'),
  prompt_cache_disk: size(diskSizeOf, acceptedDiskSize)
    .optional()
    .describe('With `file`: as HEDDLE_PROMPT_CACHE_DISK, such as `20GiB` or `off`.'),
  kv_keys: z.enum(kvChoices, oneOf(kvChoices)).optional().describe('With `file`: as HEDDLE_KV_KEYS.'),
  kv_values: z.enum(kvChoices, oneOf(kvChoices)).optional().describe('With `file`: as HEDDLE_KV_VALUES.'),
  flash_attention: z
    .enum(flashAttention, oneOf(flashAttention))
    .optional()
    .describe('With `file`: as HEDDLE_FLASH_ATTENTION.'),
  preload: z
    .boolean({ error: 'true or false' })
    .optional()
    .describe('With `file`: loaded when the server starts, as far as memory allows.'),
  upstream: name.optional().describe('A model of another server: the name of one of `upstreams`.'),
  model: text('the name of the model on that server', 512)
    .optional()
    .describe('With `upstream`: its name there, where that differs.'),
  timeout: timeout.describe('With `upstream`: as there, for this model.'),
  retries: retries.describe('With `upstream`: as there, for this model.'),
})

const ModelsFile = z.strictObject({
  $schema: z.string().optional(),
  default: name
    .optional()
    .describe('The model of requests that name none; the first of `models` by default.'),
  models: list(Model, maxModels, `a list of at most ${maxModels} models`).optional(),
  upstreams: list(Upstream, 64, 'a list of at most 64 servers').optional(),
})
type ModelsFile = z.output<typeof ModelsFile>
export type ModelEntry = z.output<typeof Model>
export type UpstreamEntry = z.output<typeof Upstream>
export type KeyEntry = z.output<typeof Key>

/** Checks the value of a file. `wrong` has one line for each error. */
export function checkModels(value: unknown): { file: ModelsFile } | { wrong: string[] } {
  const crowd = tooMany(value)
  if (crowd !== undefined) return { wrong: [crowd] }
  const result = ModelsFile.safeParse(value)
  if (!result.success) {
    const { issues } = result.error
    const wrong = issues.slice(0, maxListed).map((issue) => lineOf(issue, value))
    const more = issues.length - maxListed
    return { wrong: more > 0 ? [...wrong, `and ${more} more errors.`] : wrong }
  }
  const wrong = checkTogether(result.data)
  return wrong.length > 0 ? { wrong } : { file: result.data }
}

/** Correcting these shows the next ones. */
const maxListed = 50

/** No entry of the file has more fields, and no known field is nested deeper. */
const maxFields = 32
const deepest = 6

/**
 * Recognizes what can only be a different kind of file: checking each of its members would block a server that reads it
 * again.
 */
function tooMany(value: unknown, path = '', depth = 0): string | undefined {
  if (typeof value !== 'object' || value === null || depth > deepest) return undefined
  const isList = Array.isArray(value)
  const [count, most] = isList ? [value.length, maxModels] : [Object.keys(value).length, maxFields]
  if (count > most) return wrongLine(path, `${count} ${isList ? 'entries' : 'fields'}`, `at most ${most}`)
  for (const [name, member] of Object.entries(value)) {
    const inner = isList ? `[${name}]` : `${path && '.'}${name.slice(0, 100)}`
    const found = tooMany(member, path + inner, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

/** The JSON Schema of the file, for editors. */
export function modelsFileSchema(): string {
  const schema = z.toJSONSchema(ModelsFile, { io: 'input' })
  return `${JSON.stringify({ title: 'The models of a Heddle server', ...schema }, undefined, 2)}\n`
}

export const wrongLine = (path: string, shown: string, accepted: string) =>
  `${path || 'the file'}: given ${shown}; accepted: ${accepted}.`

/** A path in the file, such as `models[1].context`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('')
    .replace(/^\./, '')
}

/** What a file has at a path. */
export const foundAt = (path: readonly PropertyKey[], value: unknown): unknown =>
  path.reduce<unknown>(
    (at, step) => (typeof at === 'object' && at !== null ? Reflect.get(at, step) : undefined),
    value,
  )

function lineOf(issue: z.core.$ZodIssue, value: unknown): string {
  const path = pathText(issue.path)
  const found = foundAt(issue.path, value)
  if (issue.code === 'unrecognized_keys') {
    const known = fieldsAt(issue.path)
    return issue.keys
      .map((key) => {
        const meant = nearestName(key, known)
        const advice = meant === undefined ? known.join(', ') : `${meant}, if that is meant`
        return wrongLine(pathText([...issue.path, key]), 'an unknown field', advice)
      })
      .join('\n')
  }
  // A value given for a key may be a secret.
  const isSecret = issue.path.includes('key')
  const shown = isSecret ? (found === undefined ? 'nothing' : 'something else') : described(found)
  return wrongLine(path, shown, issue.message)
}

function fieldsAt(path: readonly PropertyKey[]): string[] {
  if (path.includes('key')) return ['env', 'file']
  if (path.includes('addresses')) return Object.keys(Address.shape)
  if (path[0] === 'models') return Object.keys(Model.shape)
  if (path[0] === 'upstreams') return Object.keys(Upstream.shape)
  return Object.keys(ModelsFile.shape)
}

const ofFile = [
  'parallel',
  'threads',
  'batch',
  'lora',
  'speculation',
  'prompt_cache',
  'prompt_cache_disk',
  'kv_keys',
  'kv_values',
  'flash_attention',
  'preload',
] as const

/** Checks that involve several fields. */
function checkTogether({ models = [], upstreams = [], default: usual }: ModelsFile): string[] {
  const wrong: string[] = []
  const say = (path: string, shown: string, accepted: string) => wrong.push(wrongLine(path, shown, accepted))
  if (models.length === 0 && !upstreams.some(({ serves }) => serves === 'all')) {
    say('models', 'none', 'at least one model, or an upstream with "serves": "all"')
  }
  const servers = new Map<string, string>()
  for (const [index, { name: own }] of upstreams.entries()) {
    const path = `upstreams[${index}].name`
    const other = servers.get(own)
    if (other !== undefined) say(path, JSON.stringify(own), `another name: it is that of ${other}`)
    servers.set(own, path)
  }
  const names = new Map<string, string>()
  for (const [index, model] of models.entries()) {
    const path = `models[${index}]`
    const own: [name: string, where: string][] = [
      [model.name, `${path}.name`],
      ...(model.aliases ?? []).map((alias, at): [string, string] => [alias, `${path}.aliases[${at}]`]),
      ...Object.keys(model.lora ?? {}).map((adapter): [string, string] => [adapter, `${path}.lora`]),
    ]
    for (const [name, where] of own) {
      const other = names.get(name)
      if (other !== undefined) say(where, JSON.stringify(name), `another name: it is that of ${other}`)
      names.set(name, where)
    }
    if ((model.file === undefined) === (model.upstream === undefined)) {
      say(path, model.file === undefined ? 'neither file nor upstream' : 'file and upstream', 'one of both')
      continue
    }
    if (model.upstream === undefined) {
      for (const field of ['model', 'timeout', 'retries'] as const) {
        if (model[field] !== undefined)
          say(`${path}.${field}`, described(model[field]), 'nothing together with file')
      }
      continue
    }
    for (const field of ofFile) {
      if (model[field] !== undefined)
        say(`${path}.${field}`, described(model[field]), 'nothing together with upstream')
    }
    if (!servers.has(model.upstream)) {
      const known = [...servers.keys()].map((name) => JSON.stringify(name)).join(', ') || 'this file has none'
      say(`${path}.upstream`, JSON.stringify(model.upstream), `a name of upstreams: ${known}`)
    }
  }
  // The models that an upstream lists are not known yet.
  if (upstreams.some(({ serves }) => serves === 'all')) return wrong
  const accepted = [...names.keys()].map((name) => JSON.stringify(name)).join(', ')
  if (usual !== undefined && !names.has(usual)) say('default', JSON.stringify(usual), accepted)
  for (const [index, { fallbacks = [], ...model }] of models.entries()) {
    const own = new Set([model.name, ...(model.aliases ?? [])])
    for (const [at, fallback] of fallbacks.entries()) {
      const isOther = names.has(fallback) && !own.has(fallback)
      if (!isOther)
        say(`models[${index}].fallbacks[${at}]`, JSON.stringify(fallback), `another model: ${accepted}`)
    }
  }
  return wrong
}

function isAddress(text: string): boolean {
  const parsed = /^https?:\/\//.test(text) ? URL.parse(text) : null
  return parsed !== null && !parsed.username && !parsed.password && !parsed.search && !parsed.hash
}

function modelFiles(): string {
  return 'builtin, hf:<org>/<repo>[:<quant or file>] or the path of a .gguf file'
}

function isFile(text: string): boolean {
  if (text.startsWith('hf:')) return /^hf:[\w-][\w.-]*\/[\w-][\w.-]*(:[^:\s][^:]*)?$/.test(text)
  return text !== '' && text !== 'none' && !text.includes('\0') && !/^[a-z][a-z0-9+.-]*:\/\//i.test(text)
}
