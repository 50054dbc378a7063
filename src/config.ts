import { isIP } from 'node:net'
import { z } from 'zod'
import { kvChoices } from '../packages/engine/index.ts'
import { acceptedCacheSize, acceptedDiskSize, bytesOf, cacheSizeOf, diskSizeOf } from './domain/byte-sizes.ts'
import { entityName, isStep } from './domain/fields.ts'
import { nearestName } from './domain/nearest.ts'

export interface ConfiguredUser {
  name: string
  key: string
  /** `*` is all of them. */
  entities: string[]
}

const digits = z.string().regex(/^\d+$/, 'expected a whole number').transform(Number)

const integer = (least: number, most: number) =>
  digits.refine((number) => number >= least && number <= most, `expected ${least} to ${most}`)

/** `0` stands for what the model and the machine suggest. */
const chosen = (least: number, most: number) =>
  digits.refine(
    (number) => number === 0 || (number >= least && number <= most),
    `expected ${least} to ${most}, or 0 to have it chosen`,
  )

/** A random key of this length cannot be guessed over a network; the ones that people make up are shorter. */
const minKeyLength = 20

const users = z.string().transform((text, context): ConfiguredUser[] => {
  const found: ConfiguredUser[] = []
  const refused = (message: string) => {
    context.addIssue(message)
    return z.NEVER
  }
  for (const entry of text.split(',').map((item) => item.trim())) {
    if (entry === '') continue
    const [name = '', key = '', entities = '*', ...rest] = entry.split(':')
    if (
      !/^[\w.@-]{1,64}$/.test(name) ||
      isStep(name) ||
      name === 'api' ||
      key === '' ||
      entities === '' ||
      rest.length > 0
    ) {
      // The key stays out of the message: it ends up in logs.
      return refused(
        `entry ${found.length + 1}: expected name:key or name:key:entity+entity, the name not "api"`,
      )
    }
    if (key.length < minKeyLength) {
      return refused(
        `entry ${found.length + 1}: the key of ${name} has ${key.length} characters and could be guessed; expected at least ${minKeyLength}, such as \`openssl rand -hex 24\` prints`,
      )
    }
    const double = found.find((user) => user.name === name || user.key === key)
    if (double !== undefined) {
      const what = double.name === name ? `the name ${name}` : `the key of ${double.name}`
      return refused(
        `entry ${found.length + 1}: expected another name and key, ${what} is taken by entry ${found.indexOf(double) + 1}`,
      )
    }
    const reached = entities.split('+')
    if (!reached.every((entity) => entityName.safeParse(entity).success)) {
      return refused(
        `entry ${found.length + 1}: expected the names of entities after the key of ${name}, with + between them, or * for all`,
      )
    }
    found.push({ name, key, entities: reached })
  }
  return found
})

/** How many proxies a request passes, or where they are. Nobody is believed who says that all are trusted. */
export type TrustedProxies = number | Network[]

export interface Network {
  address: string
  prefix: number
}

const networks: Record<string, string[]> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
}

const networksOf = (text: string, context: z.RefinementCtx, expected: string): Network[] => {
  const items = text.split(',').map((item) => item.trim())
  const found = items.filter(Boolean).flatMap((item) => networks[item] ?? [item])
  return found.map((network) => {
    const [address = '', length, ...rest] = network.split('/')
    const bits = { 0: 0, 4: 32, 6: 128 }[isIP(address)] as number
    const prefix = length === undefined ? bits : /^\d{1,3}$/.test(length) ? Number(length) : bits + 1
    if (bits === 0 || prefix > bits || prefix === 0 || rest.length > 0) {
      context.addIssue(`expected ${expected}: 10.0.0.7, 10.0.0.0/8, loopback, private`)
      return z.NEVER
    }
    return { address, prefix }
  })
}

const trustedProxies = z
  .string()
  .transform(
    (text, context): TrustedProxies =>
      /^[1-9]$/.test(text)
        ? Number(text)
        : networksOf(text, context, 'how many proxies there are, 1 to 9, or their addresses'),
  )

const onOff = z.enum(['on', 'off']).transform((value) => value === 'on')

/** As browsers write them: a scheme, a host, and a port where it is not the usual one. */
const corsOrigins = z.string().transform((text, context): string[] => {
  const origins = text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)
  for (const origin of origins) {
    if (origin === '*' || URL.parse(origin)?.origin === origin) continue
    context.addIssue('expected origins such as https://app.example.com, without a path, or *')
    return z.NEVER
  }
  return origins
})

const shorterVectors = z.string().transform((text, context): 'any' | number[] => {
  if (text === '' || text === 'any') return text || []
  const lengths = text.split(',').map((item) => Number(item.trim()))
  if (lengths.every((length) => Number.isInteger(length) && length >= 1)) return lengths
  context.addIssue('expected numbers such as 256,512, or any')
  return z.NEVER
})

/** The address of a server that speaks the wire of OpenAI. Its key is a setting of its own, as addresses end up in logs. */
function isUpstream(address: string): boolean {
  const url = /^https?:\/\//.test(address) ? URL.parse(address) : null
  if (url === null || url.pathname.endsWith('.gguf')) return false
  return url.username === '' && url.password === '' && url.search === '' && url.hash === ''
}

function isPublicUrl(text: string): boolean {
  const url = /^https?:\/\/[^?#\\\s]+$/.test(text) ? URL.parse(text) : null
  return url !== null && url.username === '' && /^(\/[\w.~-]+)*\/?$/.test(url.pathname)
}

/** A path may hold nearly anything; what looks like an address or a repository without `hf:` is a mistake. */
const model = z
  .string()
  .refine(
    (text) => !text.startsWith('hf:') || hubName.test(text),
    'expected hf:<org>/<repo>[:<quant or file>]',
  )
  .refine(
    (text) => isUpstream(text) || !/^[a-z][a-z0-9+.-]*:\/\//i.test(text),
    'expected builtin, none, hf:<org>/<repo>[:<quant or file>], the path of a .gguf file or https://<host>/v1 of another server, without a user, a query or a fragment in it',
  )

const hubName = /^hf:[\w-][\w.-]*\/[\w-][\w.-]*(:[^:\s][^:]*)?$/

/** 0 stands for what the machine suggests. */
const memorySize = z.string().transform((text, context): number => {
  const bytes = bytesOf(text)
  if (bytes === 0 || (bytes !== undefined && bytes >= 128 * 1024 ** 2 && bytes < 2 ** 50)) return bytes
  context.addIssue('expected at least 128MiB, such as 24GiB or a number of bytes, or 0 to have it chosen')
  return z.NEVER
})

const sizeBy = <Size>(read: (text: string) => Size | undefined, accepted: string) =>
  z.string().transform((text, context): Size => {
    const size = read(text)
    if (size !== undefined) return size
    context.addIssue(`expected ${accepted}`)
    return z.NEVER
  })

/** What a sequence remembers of each token is kept as numbers of one of these types. */
const kvType = z.enum(kvChoices)

const adapters = z.string().transform((text, context): { name: string; path: string }[] => {
  const items = text.split(',').filter((item) => item.trim() !== '')
  const found = items.map((item) => {
    const [, name = '', path = ''] = /^\s*([^\s=\0]{1,256})=(.+?)\s*$/.exec(item) ?? []
    return { name, path }
  })
  const isGood = found.every(({ name, path }) => name !== '' && !path.includes('\0'))
  if (isGood && new Set(found.map(({ name }) => name)).size === found.length) return found
  context.addIssue('expected adapters as name=path, comma-separated, with different names without spaces')
  return z.NEVER
})

const modelNames = z
  .string()
  .transform((text) => (text.trim() === '' ? [] : text.split(',').map((name) => name.trim())))
  .refine(
    (names) => names.every((name) => /^[^\s\0]{1,256}$/.test(name)) && new Set(names).size === names.length,
    'expected different names, comma-separated, without spaces, of at most 256 characters',
  )

const setting = <Schema extends z.ZodType<unknown, string>>(
  schema: Schema,
  initial: string,
  meaning: string,
  shown: string = initial,
) => ({ schema, initial, meaning, shown })

/** One that is off, or unknown, until it is set. */
const optional = <Schema extends z.ZodType<unknown, string>>(schema: Schema, meaning: string) =>
  setting(schema, '', meaning, 'none')

const postgresUrl = z.string().regex(/^$|^postgres(ql)?:\/\//, 'expected postgres://…')

/** Every setting: its type, what it is when nobody sets it, and a sentence. `docs/configuration.md` is made of this. */
export const settings = {
  host: setting(z.string().min(1), '127.0.0.1', 'The address to listen on.'),
  port: setting(
    integer(0, 65535),
    '8080',
    'The port to listen on; 0 picks a free one. The log line `listening` has the address.',
  ),
  data: setting(z.string().min(1), './data', 'The folder of the database and the files.'),
  database_url: setting(
    postgresUrl,
    '',
    'Keeps the record in PostgreSQL: postgres://user:password@host/database.',
    'SQLite in HEDDLE_DATA',
  ),
  database_direct_url: optional(
    postgresUrl,
    'PostgreSQL itself, if HEDDLE_DATABASE_URL is a pooler in transaction mode.',
  ),
  database_connections: setting(
    integer(4, 1_000),
    '12',
    'The most connections to PostgreSQL, and one more while a client watches events (docs/scale.md).',
  ),
  users: optional(
    users,
    'Users, comma-separated: `name:key` is an admin of every entity, `name:key:entity+entity` has access to those only. A key has at least 20 characters.',
  ),
  oidc: optional(
    z.string(),
    'A JSON file with the OpenID Connect issuers of people and programs (docs/sign-in.md).',
  ),
  public_url: optional(
    z
      .string()
      .refine((text) => text === '' || isPublicUrl(text), 'expected https://<host>[/<path>]')
      .transform((text) => text.replace(/\/+$/, '')),
    'Where browsers find the server, for HEDDLE_OIDC: `https://heddle.example.com`, or with a path that a proxy removes.',
  ),
  key_sign_in: setting(onOff, 'on', 'Sign-in to the page with a key, besides HEDDLE_OIDC: on or off.'),
  ollama_user: optional(
    z.string().regex(/^[\w.@-]{0,64}$/, 'expected the name of a user'),
    'The user of requests without a key to /api/… and /v1/chat/completions, as Ollama’s clients send them (docs/ollama.md).',
  ),
  ollama_from: setting(
    z.enum(['loopback', 'anywhere'], 'expected loopback or anywhere'),
    'loopback',
    'Where these may come from: `loopback` (this machine) or `anywhere`.',
  ),
  cors_origins: optional(
    corsOrigins,
    'The origins whose pages may send requests with a key, comma-separated, such as `https://app.example.com`; `*` means all.',
  ),
  wrong_keys: setting(
    integer(0, 100_000),
    '30',
    'Wrong keys that an address may send per minute before it gets 429 (docs/security.md); 0 means no limit.',
  ),
  trust_proxy: optional(
    trustedProxies,
    'The reverse proxies whose X-Forwarded-For is trusted: how many, or their addresses, comma-separated (`10.0.0.7`, `10.0.0.0/8`, `loopback`, `private`).',
  ),
  webhook_allow: optional(
    z.string().transform((text, context) => networksOf(text, context, 'addresses')),
    'Addresses that are not public and to which alerts may be sent, also without TLS, comma-separated (`10.2.0.0/16`, `loopback`, `private`).',
  ),
  traces_to: optional(
    z
      .string()
      .refine(
        (text) => text === '' || isUpstream(text),
        'expected http(s)://<host>/v1/traces, without a user',
      ),
    'Where spans of requests are sent, such as `http://collector:4318/v1/traces` (docs/otel.md).',
  ),
  traces_key: optional(
    z.string().regex(/^[\x21-\x7e]*$/, 'expected a key without spaces'),
    'Its Bearer token.',
  ),
  log_level: setting(
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    'info',
    'How much is logged: trace, debug, info, warn, error, fatal or silent.',
  ),
  log_format: setting(
    z.enum(['auto', 'json', 'pretty']),
    'auto',
    'The form of the log: `json` (an object per line), `pretty`, or `auto`, which is pretty on a terminal.',
  ),
  body_limit: setting(
    integer(1024, 1 << 30),
    String(32 * 1024 * 1024),
    'The largest body in bytes, on routes that write values; others accept at most 4 MiB.',
  ),
  file_limit: setting(integer(1024, 2 ** 34), String(256 * 1024 * 1024), 'The largest file in bytes.'),
  batch_lines: setting(integer(1, 1_000_000), '50000', 'Most requests in one batch.'),
  batch_parallel: setting(integer(1, 256), '8', 'Requests of a batch asked at the same time.'),
  body_budget: setting(
    integer(1024, 2 ** 34),
    String(256 * 1024 * 1024),
    'Bytes of request bodies in memory at once; a request beyond that gets 429. One user may use three quarters of it.',
  ),
  connection_timeout: setting(
    integer(0, 3_600_000),
    '0',
    'Milliseconds without traffic until a connection is closed; 0: never.',
  ),
  request_timeout: setting(integer(0, 3_600_000), '120000', 'Milliseconds to send a request; 0: no limit.'),
  headers_timeout: setting(integer(1000, 3_600_000), '30000', 'Milliseconds to send the headers.'),
  keep_alive_timeout: setting(
    integer(0, 3_600_000),
    '72000',
    'Milliseconds that an idle connection is kept open.',
  ),
  query_timeout: setting(
    integer(1, 3_600_000),
    '60000',
    'Milliseconds that a long query may take to find its next rows, or wait for the client to read them.',
  ),
  max_loop_delay: setting(
    integer(0, 60_000),
    '1000',
    'Milliseconds that the event loop may lag before requests get 503; with 0 none is refused.',
  ),
  grace: setting(
    integer(0, 600_000),
    '10000',
    'Milliseconds for running requests to finish when the server stops.',
  ),
  record: setting(
    z.enum(['all', 'asked', 'off'], 'expected all, asked or off'),
    'all',
    'Which answers become calls: `all`, `asked` (requests with `"store": true`) or `off` (docs/recording.md).',
  ),
  retention_days: setting(
    integer(0, 36_500),
    '0',
    'Days from its start until a call expires, unless it has its own expire_at; 0 keeps calls for ever.',
  ),
  cold_after: setting(
    integer(0, 36_500),
    '0',
    'Days until inputs and output of a call move to HEDDLE_COLD_STORE (docs/cold.md); 0: never.',
  ),
  cold_store: optional(
    z
      .string()
      .regex(
        /^$|^\/.|^s3:\/\/[\w.-]+(\/[\w./-]*)?$/,
        'expected an absolute path or s3://<bucket>[/<prefix>]',
      ),
    'A folder, or `s3://<bucket>/<prefix>`.',
  ),
  cold_endpoint: setting(
    z.string().regex(/^$|^https?:\/\/[^\s?#@]+$/, 'expected https://…'),
    '',
    'Its S3-compatible server.',
    'that of AWS',
  ),
  cold_region: setting(
    z.string().regex(/^[\w-]{1,64}$/, 'expected the name of a region'),
    'us-east-1',
    'Its region.',
  ),
  cold_key: optional(
    z.string().regex(/^[\x21-\x7e]*$/, 'expected a key without spaces'),
    'Its access key id.',
  ),
  cold_secret: optional(
    z.string().regex(/^[\x21-\x7e]*$/, 'expected a key without spaces'),
    'Its secret access key.',
  ),
  response_days: setting(
    integer(0, 36_500),
    '0',
    'Days after which answers of the Responses API expire with their calls, if not before (docs/responses.md); 0 means no such limit.',
  ),
  ref_scheme: setting(
    z.string().regex(/^[a-z][a-z0-9+.-]*$/, 'expected the name of a scheme, in lower case'),
    'weave',
    'The scheme of the references that the server makes; it accepts any.',
  ),
  model: setting(
    model,
    'builtin',
    'The model: `builtin`, the path of a .gguf file, `hf:<org>/<repo>[:<quant or file>]` to download one, `https://<host>/v1` of another server, or `none` (docs/models.md).',
  ),
  models: optional(
    z.string(),
    'A JSON file with several models, in place of HEDDLE_MODEL (docs/many-models.md).',
  ),
  models_memory: setting(
    memorySize,
    '0',
    'The memory that the local models of HEDDLE_MODELS may use together, such as `24GiB`.',
    '80 % of what is free at the start',
  ),
  model_name: setting(
    modelNames,
    '',
    'The name under which the model is served, then its aliases, comma-separated.',
    "the file's name",
  ),
  upstream_key: optional(
    z.string().regex(/^[\x21-\x7e]*$/, 'expected a key without spaces'),
    'The key that is sent to the server of HEDDLE_MODEL; the keys of callers never are.',
  ),
  upstream_kind: setting(
    z.enum(['auto', 'heddle', 'vllm', 'llama-server', 'openai', 'anthropic']),
    'auto',
    'The kind of that server: heddle, vllm, llama-server, openai or anthropic; `auto` asks it (docs/gateway.md).',
  ),
  upstream_timeout: setting(
    integer(100, 3_600_000),
    '300000',
    'Milliseconds that a server behind a model may send nothing.',
  ),
  context: setting(
    chosen(64, 16_777_216),
    '0',
    'Tokens that fit into one conversation, prompt and answer together.',
    'from model and memory',
  ),
  dimensions: setting(
    shorterVectors,
    '',
    'Lengths that vectors may be cut to, comma-separated, or `any`, for a model that was trained for it (docs/embeddings.md).',
    'only the full length',
  ),
  parallel: setting(chosen(1, 256), '0', 'Answers generated at the same time.', 'from model and memory'),
  threads: setting(chosen(1, 1024), '0', 'Threads of the engine.', 'physical cores, 1 for tiny models'),
  batch: setting(
    chosen(32, 8192),
    '0',
    'Tokens that the engine computes in one step: fewer need less memory, more are faster.',
    '512',
  ),
  speculation: setting(
    onOff,
    'on',
    'Guesses tokens ahead, where that changes no answer (docs/speculation.md): on or off.',
  ),
  gpu: setting(
    z.enum(['auto', 'off', 'cuda', 'vulkan', 'metal']),
    'auto',
    'The GPU build that runs the model: auto, cuda, vulkan, metal, or `off` (docs/models.md).',
  ),
  gpu_layers: setting(
    z
      .string()
      .regex(/^(auto|all|[1-9]\d{0,4})$/, 'expected auto, all or a number of layers')
      .transform((text) => (text === 'auto' || text === 'all' ? text : Number(text))),
    'auto',
    'Layers of the model on the GPU: a number, `all`, or `auto` for those that fit.',
  ),
  lora: optional(
    adapters,
    'LoRA adapters, GGUF files: `name=path,name=path`. Each is served as a model of that name (docs/models.md).',
  ),
  prompt_cache: setting(
    sizeBy(cacheSizeOf, acceptedCacheSize),
    'auto',
    'Memory for computed prompts whose sequence was needed for others: `auto`, `off`, or a size such as `4GiB` (docs/models.md).',
    'from model and memory',
  ),
  prompt_cache_disk: setting(
    sizeBy(diskSizeOf, acceptedDiskSize),
    'off',
    'The same on disk, such as `20GiB`. Conversations can be read from these files, whatever is recorded (docs/models.md).',
  ),
  prompt_sharing: setting(
    z.enum(['user', 'entity', 'all'], 'expected user, entity or all'),
    'user',
    'Whose requests may continue from the same computed prompts: those of one `user`, of users with the same entities (`entity`), or `all`. Whoever shares can guess what the others sent (docs/security.md).',
  ),
  kv_keys: setting(
    kvType,
    'auto',
    'The number type of the keys in the KV cache: f32, f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0 or `auto` (docs/models.md).',
  ),
  kv_values: setting(kvType, 'auto', 'The same for values; quantized types need flash attention.'),
  flash_attention: setting(
    z.enum(['auto', 'on', 'off']),
    'auto',
    'Computes attention in pieces, in less memory: on, off or `auto` (docs/models.md).',
  ),
  memory_check: setting(onOff, 'on', 'Refuses a model that is larger than the free memory: on or off.'),
  queue: setting(
    integer(0, 100_000),
    '256',
    'Requests that may wait for the engine; beyond that they get 429.',
  ),
  priority: setting(
    onOff,
    'off',
    'Lets requests set their `priority`; off refuses any value but 0: on or off.',
  ),
  request_metrics: setting(
    onOff,
    'off',
    'Adds `metrics` to chat completions and completions: how long the answer waited and took, as vLLM has it: on or off.',
  ),
  request_templates: setting(onOff, 'on', 'Lets requests send their own `chat_template`: on or off.'),
  tool_choice: setting(
    z.enum(['auto', 'none'], 'expected auto or none'),
    'auto',
    'What a request with tools and without `tool_choice` means. `none` refuses any other `tool_choice`.',
  ),
  unknown_fields: setting(
    z.enum(['name', 'refuse'], 'expected name or refuse'),
    'name',
    'Fields that an operation does not have, at any depth, or that have no effect on an answer: `name` names them in `x-heddle-ignored-fields`, `refuse` refuses them, except in OpenTelemetry.',
  ),
  unknown_keywords: setting(
    z.enum(['annotate', 'refuse'], 'expected annotate or refuse'),
    'annotate',
    'Names in schemas that are not keywords: `annotate` ignores them, but names likely typing errors, `refuse` refuses them (docs/structured-output.md).',
  ),
  hf_endpoint: setting(
    z
      .string()
      .regex(/^https?:\/\/[^\s?#]+$/, 'expected https://…')
      .transform((url) => url.replace(/\/+$/, '')),
    'https://huggingface.co',
    'Where `hf:` models come from.',
  ),
  hf_token: optional(
    z.string().regex(/^[\x21-\x7e]*$/, 'expected a token without spaces'),
    'The access token for private and gated repositories of the hub.',
  ),
  search: setting(
    onOff,
    'on',
    'Keeps an index of the words of calls, for searches (docs/views.md): on or off. Off frees its space.',
  ),
  page: setting(onOff, 'on', 'Serves the page for browsers, and its sign-in: on or off.'),
  mcp: setting(
    z.enum(['on', 'read_only', 'off'], 'expected on, read_only or off'),
    'on',
    'Serves tools for agents at /mcp (docs/mcp.md): `on`, `read_only` (only those that change nothing) or `off`.',
  ),
  docs: setting(
    onOff,
    'on',
    'Serves the reference page at /docs and the OpenAPI document at /openapi.json: on or off.',
  ),
} as const

export type Config = { readonly [Name in keyof typeof settings]: z.output<(typeof settings)[Name]['schema']> }

export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** PORT and HOST are what platforms set, the others what the hub's own tools read; the names with the prefix win. */
const unprefixed: Record<string, string> = {
  host: 'HOST',
  port: 'PORT',
  hf_endpoint: 'HF_ENDPOINT',
  hf_token: 'HF_TOKEN',
}

const keys = ['hf_token', 'upstream_key', 'cold_key', 'cold_secret', 'traces_key']

/** Their values hold keys and passwords, and messages end up in logs. */
const secret = new Set(['users', 'database_url', 'database_direct_url', ...keys])

const withoutPassword = (url: string) =>
  url.replace(/\/\/[^/]*@/, '//[redacted]@').replace(/(password=)[^&]*/i, '$1[redacted]')

/** What differs from the defaults, for the audit log: no key and no password is in it. */
export function changedSettings(config: Config): Record<string, unknown> {
  const shown: Record<string, unknown> = {}
  for (const [name, { schema, initial }] of Object.entries(settings)) {
    const value = config[name as keyof Config]
    if (JSON.stringify(value) === JSON.stringify(schema.parse(initial))) continue
    const text = typeof value === 'string' ? withoutPassword(value) : value
    shown[name] = keys.includes(name) ? '[redacted]' : text
  }
  if (config.users.length > 0) {
    shown.users = config.users.map(({ name, entities }) => `${name}:${entities.join('+')}`)
  }
  return shown
}

export function variableOf(name: string): string {
  return `HEDDLE_${name.toUpperCase()}`
}

/** The variable that sets it in this environment; where none does, the one that would. */
export function variableInUse(name: string, environment: Environment): string {
  const links = serviceLinks(environment)
  const isSet = (setting: string | undefined) => setting && environment[setting] && !links.includes(setting)
  return [variableOf(name), unprefixed[name]].find(isSet) ?? variableOf(name)
}

/** The variable of the setting that somebody meant who wrote this name, in whatever case and without the prefix. */
export function intendedVariable(name: string): string | undefined {
  const meant = nearestName(name, Object.keys(settings))
  return meant === undefined ? undefined : variableOf(meant)
}

type Environment = Record<string, string | undefined>

/**
 * Kubernetes tells each container of the services beside it, in variables named after them. Those of services whose name
 * begins with that of the server look like settings (https://kubernetes.io/docs/concepts/services-networking/service/).
 */
const ofService =
  /^HEDDLE_(?:[A-Z\d_]+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_[A-Z\d_]+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/
const portOfService = /^HEDDLE_(?:[A-Z\d_]+_)?PORT$/
const addressOfService = /^(?:tcp|udp|sctp):\/\//

/** The variables that are left aside, because they are about services of Kubernetes. */
export function serviceLinks(environment: Environment): string[] {
  return Object.entries(environment)
    .filter(
      ([name, value = '']) =>
        ofService.test(name) || (portOfService.test(name) && addressOfService.test(value)),
    )
    .map(([name]) => name)
}

/** What a file of models says of each. */
const instead = ['model', 'model_name', 'upstream_key', 'upstream_kind', 'lora']

export function readConfig(environment: Environment): Config {
  const links = new Set(serviceLinks(environment))
  const config: Record<string, unknown> = {}
  const wrong: string[] = []
  for (const [name, { schema, initial }] of Object.entries(settings)) {
    const variable = variableInUse(name, environment)
    const value = (!links.has(variable) && environment[variable]) || initial
    const result = schema.safeParse(value)
    if (result.success) config[name] = result.data
    else {
      const shown = secret.has(name) ? '' : `, given ${JSON.stringify(value)}`
      wrong.push(`${variable}: ${result.error.issues[0]?.message}${shown}`)
    }
  }
  for (const name of config.models ? instead : []) {
    const variable = variableInUse(name, environment)
    if (environment[variable])
      wrong.push(
        `${variable}: given together with HEDDLE_MODELS, which sets it for each model; accepted: only one of the two`,
      )
  }
  if (config.cold_after && !config.cold_store)
    wrong.push(
      'HEDDLE_COLD_STORE: given nothing together with HEDDLE_COLD_AFTER; expected an absolute path or s3://<bucket>[/<prefix>]',
    )
  if (String(config.cold_store).startsWith('s3:') && !(config.cold_key && config.cold_secret))
    wrong.push(
      'HEDDLE_COLD_KEY and HEDDLE_COLD_SECRET: given nothing together with a bucket in HEDDLE_COLD_STORE; expected its keys',
    )
  if (config.database_direct_url && !config.database_url)
    wrong.push(
      'HEDDLE_DATABASE_URL: given nothing together with HEDDLE_DATABASE_DIRECT_URL; expected postgres://…',
    )
  if (config.oidc && !config.public_url)
    wrong.push('HEDDLE_PUBLIC_URL: given nothing together with HEDDLE_OIDC; expected https://<host>[/<path>]')
  if (config.oidc === '' && config.key_sign_in === false)
    wrong.push('HEDDLE_KEY_SIGN_IN: given off without HEDDLE_OIDC; nobody could sign in to the page')
  const known = new Set(Object.keys(settings).map(variableOf))
  for (const variable of Object.keys(environment)) {
    if (variable.startsWith('HEDDLE_') && !known.has(variable) && !links.has(variable)) {
      const meant = intendedVariable(variable.slice('HEDDLE_'.length))
      const advice = meant === undefined ? '' : `; did you mean ${meant}?`
      wrong.push(`${variable}: there is no such setting${advice || '; docs/configuration.md lists them'}`)
    }
  }
  if (wrong.length > 0) throw new ConfigError(wrong.join('\n'))
  return config as Config
}
