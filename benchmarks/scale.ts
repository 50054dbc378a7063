import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { uuidv7 } from 'uuidv7'
import { startPostgres } from '../test/support/postgres.ts'
import { quantile, sorted } from './figures.ts'
import { machineFacts } from './machine.ts'

/**
 * Writes and reads over HTTP with one, two and three servers on one PostgreSQL, beside one on SQLite, at several sizes of the record:
 * ingestion in batches, a call by its id, a query of calls, and a page of evaluation results.
 * Run: node benchmarks/scale.ts [--calls 10000,100000] [--servers 1,2,3] [--seconds 5]
 */
const { values: options } = parseArgs({
  options: {
    calls: { type: 'string', default: '10000,100000' },
    servers: { type: 'string', default: '1,2,3' },
    seconds: { type: 'string', default: '5' },
  },
})
const numbers = (text: string) => text.split(',').map(Number)
const seconds = Number(options.seconds)
const clients = 16
const batchSize = 200
const project_id = 'bench/scale'
const key = 'a-key-of-the-benchmark'
const text = 'The capital of Chad is on the right bank of the Chari where the Logone joins it. '.repeat(6)

interface Running {
  address: string
  stop(): Promise<unknown>
}

async function serve(settings: Record<string, string>): Promise<Running> {
  const args = ['--max-semi-space-size=4', '--v8-pool-size=2', 'bin/heddle.js']
  const child = spawn(process.execPath, args, {
    cwd: new URL('..', import.meta.url),
    env: {
      PATH: process.env.PATH,
      HEDDLE_PORT: '0',
      HEDDLE_MODEL: 'none',
      HEDDLE_LOG_LEVEL: 'info',
      HEDDLE_MAX_LOOP_DELAY: '0',
      HEDDLE_USERS: `bench:${key}`,
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const address = await new Promise<string>((resolve, reject) => {
    void exited.then(([code]) => reject(new Error(`a server ended with ${code}`)))
    createInterface({ input: child.stdout }).on('line', (line) => {
      const said = JSON.parse(line) as { msg?: string; address?: string }
      if (said.msg === 'listening' && said.address) resolve(said.address)
    })
  })
  return {
    address,
    stop() {
      child.kill('SIGTERM')
      return exited
    },
  }
}

async function post(address: string, url: string, body: object): Promise<string> {
  const answer = await fetch(`${address}${url}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(url.startsWith('/v2/') ? body : { project_id, ...body }),
  })
  const said = await answer.text()
  if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${said.slice(0, 300)}`)
  return said
}

const ids: string[] = []

/** One in ten calls is a trial of the evaluation, with its prediction. */
function batchOf(evaluation: string, from: number): object[] {
  return Array.from({ length: batchSize }, (_, index) => {
    const n = from + index
    const id = uuidv7()
    const at = Date.UTC(2026, 0, 2) + n * 10
    const isTrial = n % 10 === 0
    if (n % 97 === 0) ids.push(id)
    return {
      project_id,
      id,
      trace_id: isTrial ? evaluation : id,
      parent_id: isTrial ? evaluation : null,
      op_name: isTrial ? 'Evaluation.predict_and_score' : `op-${n % 20}`,
      started_at: new Date(at).toISOString(),
      ended_at: new Date(at + 500).toISOString(),
      attributes: {},
      inputs: isTrial ? { example: { n, question: text }, model: 'm' } : { n, question: text },
      output: isTrial ? { model_output: n, scores: { right: n % 3 === 0, near: (n % 100) / 100 } } : text,
      summary: {
        usage: { m: { prompt_tokens: n % 500, completion_tokens: 10, total_tokens: (n % 500) + 10 } },
      },
    }
  })
}

/** Requests of all clients for so long, spread over the servers. */
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
  return { rate: times.length / ((performance.now() - begun) / 1000), half: of(0.5), late: of(0.99) }
}

async function measure(
  name: string,
  sizes: readonly number[],
  serversOf: () => Promise<Running[]>,
): Promise<void> {
  const servers = await serversOf()
  try {
    await measureOn(servers, name, sizes)
  } finally {
    for (const server of servers) await server.stop()
  }
}

async function measureOn(servers: readonly Running[], name: string, sizes: readonly number[]): Promise<void> {
  const evaluation = uuidv7()
  ids.length = 0
  const [first] = servers as readonly [Running]
  const root = {
    id: evaluation,
    trace_id: evaluation,
    op_name: 'Evaluation.evaluate',
    started_at: '2026-01-01T00:00:00Z',
  }
  const ended = {
    ended_at: '2026-01-03T00:00:00Z',
    attributes: {},
    inputs: { self: 'e', model: 'm' },
    output: {},
    summary: {},
  }
  await post(first.address, `/v2/${project_id}/calls/complete`, {
    batch: [{ project_id, ...root, ...ended }],
  })
  let written = 0
  for (const size of sizes) {
    const begun = performance.now()
    const before = written
    const writer = async (index: number) => {
      const { address } = servers[index % servers.length] as Running
      while (written < size) {
        const from = written
        written += batchSize
        await post(address, `/v2/${project_id}/calls/complete`, { batch: batchOf(evaluation, from) })
      }
    }
    await Promise.all(Array.from({ length: clients }, (_, index) => writer(index)))
    const rate = (written - before) / ((performance.now() - begun) / 1000)
    const page = { evaluation_call_ids: [evaluation], limit: 50, offset: 100 }
    const results = (address: string) => post(address, `/v2/${project_id}/eval_results/query`, page)
    // Derived, and its columns packed, which is done behind the writes.
    while ((await results(first.address)).includes('"is_deriving":true'))
      await new Promise((r) => setTimeout(r, 500))
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    const read = await load(servers, (address, n) => post(address, '/call/read', { id: ids[n % ids.length] }))
    const query = {
      filter: { op_names: ['op-7'] },
      sort_by: [{ field: 'started_at', direction: 'desc' }],
      limit: 50,
    }
    const found = await load(servers, (address) => post(address, '/calls/stream_query', query))
    const paged = await load(servers, results)
    const cell = ({ rate: per, half, late }: Awaited<ReturnType<typeof load>>) =>
      `${per.toFixed(0)}/s, ${half}, ${late}`
    console.log(
      `| ${name} | ${written} | ${rate.toFixed(0)} | ${cell(read)} | ${cell(found)} | ${cell(paged)} |`,
    )
  }
}

const folder = mkdtempSync(join(tmpdir(), 'heddle-scale-'))
const postgres = await startPostgres()
try {
  const { cpu, cores, memoryGb, load: busy, node, commit, fsyncMs } = machineFacts(folder)
  console.log(
    `${cpu}, ${cores} cores, ${memoryGb} GB, load ${busy.toFixed(1)}, ${node}, ${commit}, fsync ${JSON.stringify(fsyncMs)}`,
  )
  console.log(`${clients} clients for ${seconds} s each; reads as requests a second, median and p99 in ms\n`)
  console.log('| Record | Calls | Written a second | call/read | Query of 50 | Page of 50 results |')
  console.log('|---|---|---|---|---|---|')
  const sizes = numbers(options.calls)
  await measure('SQLite, 1 server', sizes, async () => [await serve({ HEDDLE_DATA: join(folder, 'sqlite') })])
  for (const count of numbers(options.servers)) {
    const url = await postgres.createDatabase()
    const one = (n: number) => serve({ HEDDLE_DATA: join(folder, `${count}-${n}`), HEDDLE_DATABASE_URL: url })
    const name = `PostgreSQL, ${count} server${count > 1 ? 's' : ''}`
    await measure(name, sizes, () => Promise.all(Array.from({ length: count }, (_, n) => one(n))))
  }
} finally {
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
}
