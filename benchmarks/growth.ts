import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres } from '../test/support/postgres.ts'
import {
  begun,
  bytesOf,
  end,
  fill,
  hasUnsummedHours,
  idOf,
  project_id,
  type Target,
} from './growth-record.ts'
import { questionsOfThreads } from './growth-threads.ts'
import { machineFacts } from './machine.ts'
import { post, type Running, serve } from './serving.ts'

/**
 * How the answers that screens ask for grow with the record, on SQLite and PostgreSQL: the median of some requests, in
 * milliseconds, at each size. With --folder the records are kept, so that a later run only measures. With --threads, of
 * the screens of conversations and agents.
 * Run: node benchmarks/growth.ts [--calls 100000,1000000] [--engines sqlite,postgres] [--times 5] [--folder F] [--only TEXT]
 * [--settle 30] [--threads]
 */
const { values: options } = parseArgs({
  options: {
    calls: { type: 'string', default: '100000,1000000' },
    engines: { type: 'string', default: 'sqlite,postgres' },
    times: { type: 'string', default: '5' },
    folder: { type: 'string' },
    only: { type: 'string', default: '' },
    settle: { type: 'string', default: '600' },
    threads: { type: 'boolean', default: false },
  },
})
mkdirSync(options.folder ?? tmpdir(), { recursive: true })
const sizes = options.calls.split(',').map(Number)
const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'heddle-growth-'))
const iso = (micros: number) => new Date(micros / 1000).toISOString()
const field = (name: string) => ({ $getField: name })
const equals = (name: string, value: unknown) => ({
  query: { $expr: { $eq: [field(name), { $literal: value }] } },
})
const asOnPage = { filter: { trace_roots_only: true }, ...equals('origin', 'app') }
const day = 86_400_000_000
const chart = { after: iso(begun), before: iso(end), step_seconds: 86_400 }
const hours = { after: iso(begun + 40 * day), before: iso(begun + 41 * day), step_seconds: 3_600 }
const timed = { timed: 'latency', costs: true }
const ofCustomer = equals('inputs.customer', 4242)
const light = '/views/calls'
const shown = { limit: 100, count_up_to: 0 }
const sortedBy = (name: string, direction: 'asc' | 'desc') => ({
  ...{ ...shown, sort_by: [{ field: name, direction }] },
})
const eitherOf = (...operands: ReturnType<typeof equals>[]) => ({
  query: { $expr: { $or: operands.map(({ query }) => query.$expr) } },
})

/** A line of the table: what is asked for. */
type Question = [name: string, url: string, body: object | ((size: number) => object)]

const questionsOfCalls: Question[] = [
  ['call/read', '/call/read', (size) => ({ id: idOf(Math.floor(size / 2)) })],
  ['newest 100', light, shown],
  ['count of all', '/calls/query_stats', {}],
  ['facets of op, model, status, user', '/views/facets', {}],
  ['the same as the page asks: roots of the application', '/views/facets', asOnPage],
  ['chart of 55 days by day', '/views/buckets', chart],
  ['the same by op, with times and costs', '/views/buckets', { ...chart, ...timed, by: 'op' }],
  [
    'the same of the roots of the application',
    '/views/buckets',
    { ...chart, ...timed, ...asOnPage, by: 'op' },
  ],
  ['chart of a day by hour, by model', '/views/buckets', { ...hours, ...timed, by: 'model' }],
  ['sorted by latency', light, sortedBy('summary.weave.latency_ms', 'desc')],
  ['sorted by input tokens', light, sortedBy('input_tokens', 'desc')],
  ['sorted by cost', light, sortedBy('cost', 'desc')],
  ['sorted by latency upwards', light, sortedBy('summary.weave.latency_ms', 'asc')],
  ['sorted by output tokens upwards', light, sortedBy('output_tokens', 'asc')],
  ['sorted by cost upwards', light, sortedBy('cost', 'asc')],
  ['sorted by size', light, sortedBy('storage_size_bytes', 'desc')],
  ['sorted by size upwards', light, sortedBy('storage_size_bytes', 'asc')],
  ['sorted by user', light, sortedBy('svc_user_id', 'asc')],
  ['sorted by model', light, sortedBy('model', 'desc')],
  ['size of all', '/calls/query_stats', { include_total_storage_size: true }],
  [
    'of a model or a user that no call has',
    light,
    { ...shown, ...eitherOf(equals('model', 'none'), equals('svc_user_id', 'nobody')) },
  ],
  [
    'where inputs.customer = 4242 or inputs.question is another',
    light,
    { ...shown, ...eitherOf(equals('inputs.customer', 4242), equals('inputs.question', 'none')) },
  ],
  ['of an op that no call has', light, { ...shown, filter: { op_names: ['no-such-op'] } }],
  ['of a fact op that no call has', light, { ...shown, ...equals('op', 'no-such-op') }],
  ['of a user that no call has', light, { ...shown, ...equals('svc_user_id', 'nobody') }],
  ['where inputs.customer = 4242', light, { ...shown, ...ofCustomer }],
  ['facets where inputs.customer = 4242', '/views/facets', ofCustomer],
  [
    'chart where inputs.customer = 4242, by op with times and costs',
    '/views/buckets',
    { ...chart, ...timed, ...ofCustomer, by: 'op' },
  ],
  [
    'where inputs.customer > 9e9, of the newest 10,000',
    light,
    {
      ...{ ...shown, examine: 10_000, count_up_to: 1_000_000 },
      query: { $expr: { $gt: [field('inputs.customer'), { $literal: 9e9 }] } },
    },
  ],
  ['with a thumb down', light, { ...shown, ...equals('feedback.[wandb.reaction.1].payload.emoji', '👎') }],
  [
    'with a reaction that no call has',
    light,
    { ...shown, ...equals('feedback.[wandb.reaction.1].payload.emoji', '🦆') },
  ],
  [
    'with a score of a scorer that did not run',
    light,
    { ...shown, ...equals('feedback.[wandb.runnable.judge].payload.output', 1) },
  ],
  ['of judges, of which there are none', light, { ...shown, ...equals('origin', 'judge') }],
  [
    'figures of a prompt that no call names',
    '/agents/spans/query',
    {
      ...equals('heddle.prompt.id', 'none'),
      group_by: [{ source: 'custom_attrs_string', key: 'heddle.prompt.version' }],
    },
  ],
  ['search: a common word', '/views/search', { text: 'capital', limit: 30 }],
  ['search: a phrase', '/views/search', { text: '"red river"', limit: 30 }],
]

const questions: Question[] = options.threads ? questionsOfThreads : questionsOfCalls

async function medianOf(work: () => Promise<unknown>, times: number): Promise<number> {
  const took: number[] = []
  // The first fills caches.
  for (let n = 0; n <= times; n++) {
    const at = performance.now()
    await work()
    if (n > 0) took.push(performance.now() - at)
  }
  return took.sort((a, b) => a - b)[Math.floor(took.length / 2)] as number
}

/** The server gives up after a minute, which the table shows. */
function whenTooSlow(error: Error): number {
  if (!error.message.includes('query_too_slow')) throw error
  return Number.POSITIVE_INFINITY
}

const settling = 'until sums are kept, after the start'

/** Waits until nothing is derived or added up behind the writes any more, or for as long as was asked for. */
async function settled({ address }: Running, target: Target): Promise<void> {
  const until = performance.now() + Number(options.settle) * 1000
  const isDeriving = async () =>
    (await post(address, '/views/facets', { project_id })).includes('"is_deriving":true')
  while (performance.now() < until && ((await hasUnsummedHours(target)) || (await isDeriving())))
    await new Promise((resolve) => setTimeout(resolve, 500))
}

async function measure(target: Target, size: number): Promise<Map<string, number>> {
  const server = await serve({ HEDDLE_DATA: target.folder, HEDDLE_DATABASE_URL: target.databaseUrl })
  try {
    const begunAt = performance.now()
    await settled(server, target)
    const took = new Map([[settling, performance.now() - begunAt]])
    for (const [name, url, body] of questions) {
      if (!name.includes(options.only)) continue
      const asked = { project_id, ...(typeof body === 'function' ? body(size) : body) }
      const ask = () => post(server.address, url, asked)
      took.set(name, await medianOf(ask, Number(options.times)).catch(whenTooSlow))
    }
    return took
  } finally {
    await server.stop()
  }
}

function shownMs(ms: number | undefined): string {
  if (ms === undefined) return ''
  if (ms === Number.POSITIVE_INFINITY) return 'over 60,000'
  return ms.toFixed(ms < 10 ? 1 : 0)
}

const postgres = options.engines.includes('postgres')
  ? await startPostgres({
      settings: { shared_buffers: '512MB', max_wal_size: '4GB' },
      ...(options.folder !== undefined && { folder: join(folder, 'postgres') }),
    })
  : undefined
try {
  const { cpu, cores, memoryGb, load, node, commit } = machineFacts(folder)
  console.log(`${cpu}, ${cores} cores, ${memoryGb} GB, load ${load.toFixed(1)}, ${node}, ${commit}\n`)
  const columns = new Map<string, Map<string, number>>()
  const bytes: string[] = []
  for (const engine of options.engines.split(',')) {
    for (const size of sizes) {
      const kind = options.threads ? 'threads-' : ''
      const own = join(folder, `${engine}-${kind}${size}`)
      mkdirSync(own, { recursive: true })
      const database = `growth_${kind}${size}`.replace('-', '_')
      const databaseUrl = engine === 'postgres' ? ((await postgres?.database(database)) ?? '') : ''
      const target = { databaseUrl, folder: own, hasThreads: options.threads }
      await fill(target, size)
      columns.set(`${engine} ${size}`, await measure(target, size))
      bytes.push(((await bytesOf(target)) / size).toFixed(0))
    }
  }
  console.log(`| | ${[...columns.keys()].join(' | ')} |\n|---|${'---|'.repeat(columns.size)}`)
  for (const name of [settling, ...questions.map(([question]) => question)]) {
    const cells = [...columns.values()].map((took) => shownMs(took.get(name)))
    if (name.includes(options.only)) console.log(`| ${name} | ${cells.join(' | ')} |`)
  }
  console.log(`| bytes per call | ${bytes.join(' | ')} |`)
} finally {
  await postgres?.stop()
  if (options.folder === undefined) rmSync(folder, { recursive: true, force: true })
}
