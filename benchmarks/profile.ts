// Where the server's time goes: the functions with the most self time, by thread. See docs/benchmarks.md.

import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { batchMaker, project, startBody } from './calls.ts'
import { type Contestant, start } from './contestants.ts'
import { table } from './figures.ts'
import { drive, post, sendAll } from './load.ts'

const phases = {
  read: async (server: Contestant, seconds: number, bodies: readonly string[]) => {
    const round = await drive(server, {
      requests: bodies.map((body) => ({ path: '/call/read', body })),
      connections: 64,
      seconds,
    })
    return `${Math.round(round.perSecond)} requests/s`
  },
  write: async (server: Contestant, seconds: number) => {
    const round = await drive(server, {
      requests: [{ path: '/call/start', body: startBody }],
      connections: 64,
      seconds,
    })
    return `${Math.round(round.perSecond)} requests/s`
  },
  bulk: async (server: Contestant, seconds: number) => {
    const make = batchMaker(500)
    const bodies = Array.from({ length: Math.ceil(seconds * 30) }, () => make().body)
    const round = await sendAll(server, '/call/upsert_batch', bodies, 4)
    return `${Math.round((bodies.length * 500) / round.seconds)} calls/s`
  },
}

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '6' },
    top: { type: 'string', default: '25' },
    keep: { type: 'string' },
  },
})
const seconds = Number(options.seconds)
const wanted = positionals.length > 0 ? positionals : Object.keys(phases)
setTimeout(() => process.exit(1), 5 * 60_000).unref()

const folder = await mkdtemp(join(tmpdir(), 'heddle-profile-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const name of wanted) await profile(name as keyof typeof phases)

async function profile(name: keyof typeof phases): Promise<void> {
  const phase = phases[name]
  if (phase === undefined)
    throw new Error(`unknown phase ${name}; the phases are ${Object.keys(phases).join(', ')}`)
  const data = join(folder, `${name}-data`)
  const profiles = join(options.keep ?? folder, name)
  await mkdir(data)
  await mkdir(profiles, { recursive: true })
  const flags = ['--cpu-prof', `--cpu-prof-dir=${profiles}`, '--cpu-prof-interval=200']
  const server = await start('heddle', { HEDDLE_DATA: data }, flags)
  const { body, rows } = batchMaker(200)()
  await post(server, '/call/upsert_batch', body)
  const bodies = rows.map((row) => JSON.stringify({ project_id: project, id: row[1] }))
  await phase(server, 2, bodies)
  const from = microseconds()
  const rate = await phase(server, seconds, bodies)
  const to = microseconds()
  await server.stop()
  console.log(`\n# ${name}: ${rate} while profiled`)
  // The last two numbers in the name are the thread and a counter; thread 0 is the main one.
  for (const file of (await readdir(profiles)).sort((a, b) => threadOf(a) - threadOf(b))) {
    const thread = threadOf(file) === 0 ? 'main thread' : 'writer thread'
    print(thread, JSON.parse(await readFile(join(profiles, file), 'utf8')) as CpuProfile, from, to)
  }
}

function threadOf(file: string): number {
  return Number(file.split('.').at(-3))
}

/** The clock that profiles use. */
function microseconds(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

interface CpuProfile {
  nodes: {
    id: number
    callFrame: { functionName: string; url: string; lineNumber: number }
    children?: number[]
  }[]
  startTime: number
  samples: number[]
  timeDeltas: number[]
}

function print(
  thread: string,
  { nodes, startTime, samples, timeDeltas }: CpuProfile,
  from: number,
  to: number,
): void {
  const selfTime = new Map<number, number>()
  let at = startTime
  for (const [i, id] of samples.entries()) {
    at += timeDeltas[i] ?? 0
    // The time between two samples belongs to the first of them.
    const span = timeDeltas[i + 1] ?? 0
    if (at >= from && at < to) selfTime.set(id, (selfTime.get(id) ?? 0) + span)
  }
  const byFunction = new Map<string, number>()
  const byPlace = new Map<string, number>()
  let all = 0
  let idle = 0
  for (const { id, callFrame } of nodes) {
    const time = selfTime.get(id) ?? 0
    if (time === 0) continue
    if (callFrame.functionName === '(idle)') {
      idle += time
      continue
    }
    all += time
    const place = placeOf(callFrame.url)
    const line = callFrame.lineNumber < 0 ? '' : `:${callFrame.lineNumber + 1}`
    add(
      byFunction,
      `${callFrame.functionName || '(anonymous)'} ${callFrame.url ? `${fileOf(callFrame.url)}${line}` : ''}`,
      time,
    )
    add(
      byPlace,
      callFrame.url ? place : callFrame.functionName.startsWith('(') ? callFrame.functionName : 'native',
      time,
    )
  }
  const busy = (100 * all) / (all + idle)
  console.log(`\n## ${thread}: busy ${busy.toFixed(0)} % of the time\n`)
  console.log(table(['place', '%'], top(byPlace, all)))
  console.log('')
  console.log(table(['function', '%'], top(byFunction, all)))
}

function add(sums: Map<string, number>, key: string, value: number): void {
  sums.set(key, (sums.get(key) ?? 0) + value)
}

function top(sums: ReadonlyMap<string, number>, all: number): string[][] {
  return [...sums]
    .sort((a, b) => b[1] - a[1])
    .slice(0, Number(options.top))
    .map(([name, time]) => [name, ((100 * time) / all).toFixed(1)])
}

function fileOf(url: string): string {
  return url
    .replace(/^file:\/\//, '')
    .replace(/^.*\/node_modules\//, '')
    .replace(/^.*\/(src\/)/, '$1')
}

/** A package, a file of this repository, or a module of Node. */
function placeOf(url: string): string {
  if (url.startsWith('node:')) return url
  const parts = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/.exec(url)
  return parts?.[1] ?? fileOf(url)
}
