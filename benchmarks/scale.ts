import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openRecord, type RecordPlace } from '../src/storage/open.ts'
import { startPostgres, type TestPostgres } from '../test/support/postgres.ts'
import { quantile, sorted } from './figures.ts'
import { machineFacts } from './machine.ts'
import { batchFrom, batchSize, callId, evaluation, project_id, root } from './scale-record.ts'
import { heddle, post as postTo, type Running, serve } from './serving.ts'

/**
 * Writes and reads over HTTP with one, two and three servers on one PostgreSQL, compared with one on SQLite, at several
 * sizes of the record: ingestion in batches, a call by its id, a query of calls, and a page of evaluation results. The
 * records are made first; the one in PostgreSQL is a copy of the one in SQLite. With --folder they are kept, so that one
 * run can make them and another one measure.
 * Run: node benchmarks/scale.ts [--calls 10000,100000] [--servers 0,1,2,3] [--seconds 5] [--folder F] [--only-make]
 * [--rounds 1]
 * `--servers 0` is the one on SQLite.
 */
const { values: options } = parseArgs({
  options: {
    calls: { type: 'string', default: '10000,100000' },
    servers: { type: 'string', default: '0,1,2,3' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '1' },
    folder: { type: 'string' },
    'only-make': { type: 'boolean', default: false },
  },
})
const numbers = (text: string) => text.split(',').map(Number)
const sizes = numbers(options.calls)
const seconds = Number(options.seconds)
const clients = 16
const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'heddle-scale-'))
const sqliteOf = (size: number) => ({ HEDDLE_DATA: join(folder, `sqlite-${size}`) })

const post = (address: string, url: string, body: object) =>
  postTo(address, url, url.startsWith('/v2/') ? body : { project_id, ...body })

const writeBatch = (address: string, batch: object[]) =>
  post(address, `/v2/${project_id}/calls/complete`, { batch })
const countOf = async (address: string) =>
  (JSON.parse(await post(address, '/calls/query_stats', {})) as { count: number }).count
const page = { evaluation_call_ids: [evaluation], limit: 50, offset: 100 }
const results = (address: string) => post(address, `/v2/${project_id}/eval_results/query`, page)

/** Waits until the results are derived and their columns packed, which happens after the writes. */
async function settled(address: string): Promise<void> {
  while ((await results(address)).includes('"is_deriving":true')) await new Promise((r) => setTimeout(r, 500))
  await new Promise((resolve) => setTimeout(resolve, 3_000))
}

const timed = async (work: () => Promise<unknown>) => {
  const begun = performance.now()
  await work()
  return (performance.now() - begun) / 1000
}

/** Servers do this when they are idle; it takes longer than the writes. */
async function indexWords(place: RecordPlace): Promise<void> {
  const db = await openRecord(place)
  try {
    while (await db.writeInBackground('indexCalls', { limit: 256, characters: 1 << 20 }));
  } finally {
    await db.close()
  }
}

/** Makes the record of this size on SQLite, or completes it, and copies it to PostgreSQL. */
async function make(postgres: TestPostgres, size: number): Promise<void> {
  const server = await serve(sqliteOf(size))
  try {
    await writeBatch(server.address, [root])
    const there = (await countOf(server.address)) - 1
    let next = Math.max(0, Math.floor(there / batchSize) - 8) * batchSize
    const writer = async () => {
      while (next < size) {
        const from = next
        next += batchSize
        await writeBatch(server.address, batchFrom(from))
      }
    }
    const took = await timed(() => Promise.all([writer(), writer(), writer(), writer()]))
    await settled(server.address)
    console.log(`${size} calls on SQLite: ${(size - there).toFixed(0)} written in ${took.toFixed(0)} s`)
  } finally {
    await server.stop()
  }
  const url = await postgres.database(`calls_${size}`)
  const place = { databaseUrl: '', folder: sqliteOf(size).HEDDLE_DATA, queryTimeoutMs: 60_000 }
  const indexed = await timed(() => indexWords(place))
  console.log(`${size} calls on SQLite: words indexed in ${indexed.toFixed(0)} s more`)
  const copied = await timed(async () => {
    const child = heddle(['db', 'copy', url], sqliteOf(size))
    child.stdout.resume()
    const [code] = await once(child, 'exit')
    if (code !== 0) console.log('Nothing was copied; the existing record stays as it is.')
  })
  console.log(`${size} calls copied to PostgreSQL in ${copied.toFixed(0)} s`)
  await indexWords({ ...place, databaseUrl: url })
}

/** Sends the requests of all clients for this long, spread over the servers. */
async function load(servers: readonly Running[], ask: (address: string, n: number) => Promise<unknown>) {
  const times: number[] = []
  const begun = performance.now()
  const end = begun + seconds * 1000
  let next = 0
  const client = async (index: number) => {
    const { address } = servers[index % servers.length] as Running
    while (performance.now() < end) {
      const at = performance.now()
      await ask(address, next++)
      times.push(performance.now() - at)
    }
  }
  await Promise.all(Array.from({ length: clients }, (_, index) => client(index)))
  const inOrder = sorted(times)
  const of = (share: number) => quantile(inOrder, share).toFixed(1)
  const rate = times.length / ((performance.now() - begun) / 1000)
  return { rate, text: `${rate.toFixed(0)}/s, ${of(0.5)}, ${of(0.99)}` }
}

const query = {
  filter: { op_names: ['op-7'] },
  sort_by: [{ field: 'started_at', direction: 'desc' }],
  limit: 50,
}

async function measure(postgres: TestPostgres, count: number, size: number): Promise<void> {
  const url = count > 0 ? await postgres.database(`calls_${size}`) : ''
  const settings = (n: number) =>
    count === 0 ? sqliteOf(size) : { HEDDLE_DATA: join(folder, `server-${n}`), HEDDLE_DATABASE_URL: url }
  const servers = await Promise.all(Array.from({ length: Math.max(1, count) }, (_, n) => serve(settings(n))))
  try {
    const [{ address }] = servers as [Running]
    await settled(address)
    const there = await countOf(address)
    for (const server of servers) await results(server.address)
    const read = await load(servers, (at, n) => post(at, '/call/read', { id: callId((n * 7_919) % size) }))
    const found = await load(servers, (at) => post(at, '/calls/stream_query', query))
    const paged = await load(servers, results)
    // Measured last: what it adds is derived before anything else is measured on this record.
    const from = Math.ceil(there / batchSize) * batchSize
    const written = await load(servers, (at, n) => writeBatch(at, batchFrom(from + n * batchSize)))
    const name = count === 0 ? 'SQLite' : `PostgreSQL, ${count} server${count > 1 ? 's' : ''}`
    const rate = (written.rate * batchSize).toFixed(0)
    console.log(`| ${name} | ${there} | ${rate} | ${read.text} | ${found.text} | ${paged.text} |`)
    await settled(address)
  } finally {
    for (const server of servers) await server.stop()
  }
}

const postgres = await startPostgres({
  // As in production: what is acknowledged is on the disk.
  settings: { fsync: 'on', shared_buffers: '512MB', max_wal_size: '4GB', deadlock_timeout: '1s' },
  ...(options.folder !== undefined && { folder: join(folder, 'postgres') }),
})
try {
  const { cpu, cores, memoryGb, load: busy, node, commit, fsyncMs } = machineFacts(folder)
  console.log(
    `${cpu}, ${cores} cores, ${memoryGb} GB, load ${busy.toFixed(1)}, ${node}, ${commit}, fsync ${JSON.stringify(fsyncMs)}`,
  )
  if (options['only-make'] || options.folder === undefined)
    for (const size of sizes) await make(postgres, size)
  if (!options['only-make']) {
    console.log(
      `${clients} clients for ${seconds} s each; reads as requests a second, median and p99 in ms\n`,
    )
    console.log('| Record | Calls | Written a second | call/read | Query of 50 | Page of 50 results |')
    console.log('|---|---|---|---|---|---|')
    for (let round = 0; round < Number(options.rounds); round++) {
      for (const count of numbers(options.servers)) {
        for (const size of sizes) await measure(postgres, count, size)
      }
    }
  }
} finally {
  await postgres.stop()
  if (options.folder === undefined) rmSync(folder, { recursive: true, force: true })
}
