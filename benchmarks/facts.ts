// What extracting the facts of calls costs the writers: a server that extracts none compared with the server as it is.
// Its latest figures are in docs/benchmarks.md.

import { rmSync } from 'node:fs'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import Sqlite from 'better-sqlite3'
import { openSqlite } from '../src/storage/engines/sqlite/open.ts'
import { sqliteFile } from '../src/storage/open.ts'
import { aimsTable, boundOf } from './aims.ts'
import { type Contestant, start } from './contestants.ts'
import { shown, shownSpread, spreadOf, table } from './figures.ts'
import { sendAll } from './load.ts'
import { loadNow, machineFacts } from './machine.ts'
import { traceMaker } from './traces.ts'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '8' },
    /** The number of calls for each server in each round. */
    calls: { type: 'string', default: '20000' },
    only: { type: 'string', default: 'batches,small batches,starts' },
  },
})
const rounds = Number(options.rounds)
const calls = Number(options.calls)

interface Kind {
  path: string
  connections: number
  callsOfBody: number
  make(): unknown
}

/** Starts and ends of this many calls. */
function batchesOf(size: number, connections: number): Kind {
  const next = traceMaker()
  const make = () => {
    const calls = Array.from({ length: size }, next)
    return {
      batch: calls.flatMap(({ start, end }) => [
        { mode: 'start', req: { start } },
        { mode: 'end', req: { end } },
      ]),
    }
  }
  return { path: '/call/upsert_batch', connections, callsOfBody: size, make }
}

const next = traceMaker()
const kinds: Record<string, Kind> = {
  batches: batchesOf(200, 4),
  'small batches': batchesOf(10, 16),
  starts: { path: '/call/start', connections: 64, callsOfBody: 1, make: () => ({ start: next().start }) },
}

const folder = await mkdtemp(join(tmpdir(), 'heddle-facts-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
setTimeout(() => process.exit(1), 10 * 60_000).unref()

/** As it was before there were facts: the index of calls by time has only the time. */
async function withoutFacts(data: string): Promise<void> {
  const file = sqliteFile(data)
  await (await openSqlite({ file })).close()
  const db = new Sqlite(file)
  db.exec('DROP INDEX calls_in_time; CREATE INDEX calls_in_time ON calls (project_id, started_at, id)')
  db.close()
}

const dataOf = (hasFacts: boolean) => join(folder, hasFacts ? 'with' : 'without')

async function server(hasFacts: boolean): Promise<Contestant> {
  const data = dataOf(hasFacts)
  await mkdir(data)
  if (!hasFacts) await withoutFacts(data)
  const flags = hasFacts
    ? []
    : ['--require', fileURLToPath(new URL('./servers/without-facts.ts', import.meta.url))]
  // Words are indexed after the writes, at any time, so neither server does it.
  return start('heddle', { HEDDLE_DATA: data, HEDDLE_SEARCH: 'off' }, flags)
}

interface Round {
  seconds: number
  /** Microseconds of processor time for a call: of the main thread, and of all threads. */
  main: number
  all: number
}

async function round(to: Contestant, { path, connections, callsOfBody, make }: Kind): Promise<Round> {
  const bodies = Array.from({ length: Math.ceil(calls / callsOfBody) }, () =>
    Buffer.from(JSON.stringify(make())),
  )
  const { seconds, failed, work } = await sendAll(to, path, bodies, connections)
  if (failed > 0) throw new Error(`${path}: ${failed} requests were not answered with 200`)
  if (work === undefined) throw new Error('this system does not tell the processor time of a process')
  const count = bodies.length * callsOfBody
  return { seconds, main: work.main / count, all: work.all / count }
}

const machine = machineFacts(folder)
console.log(
  `${machine.date}, commit ${machine.commit}, Node ${machine.node} on ${machine.system}; ${machine.cpu}, ${machine.cores} cores; fsync p50 ${shown(machine.fsyncMs.p50)} ms; load ${machine.load.toFixed(1)}; ${rounds} rounds of ${calls} calls.\n`,
)
const both = [await server(true), await server(false)] as const
const rows: string[][] = []
const aims = []
try {
  for (const name of options.only.split(',')) {
    const kind = kinds[name]
    if (kind === undefined) throw new Error(`no kind ${name}: there are ${Object.keys(kinds).join(', ')}`)
    const measured: [Round[], Round[]] = [[], []]
    for (let i = -1; i < rounds; i++) {
      for (const side of i % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
        const one = await round(both[side], kind)
        // Code that runs for the first time is compiled meanwhile.
        if (i >= 0) measured[side].push(one)
      }
    }
    const [having, lacking] = measured
    for (const [which, list] of [
      ['facts', having],
      ['none', lacking],
    ] as const) {
      const spread = (pick: (one: Round) => number) => spreadOf(list.map(pick))
      rows.push([
        `${name}, ${which}`,
        shownSpread(spread(({ seconds }) => calls / seconds)),
        shown(spread(({ main }) => main).median),
        shown(spread(({ all }) => all).median),
      ])
    }
    const more = (pick: (one: Round) => number) =>
      having.map((one, i) => (pick(one) / pick(lacking[i] as Round) - 1) * 100)
    aims.push(
      boundOf(
        `${name}: processor time, % more`,
        10,
        more(({ all }) => all),
      ),
      boundOf(
        `${name}: time, % more`,
        10,
        more(({ seconds }) => seconds),
      ),
    )
  }
} finally {
  for (const one of both) await one.stop()
}
for (const hasFacts of [true, false]) {
  const db = new Sqlite(sqliteFile(dataOf(hasFacts)), { readonly: true })
  const { all, known } = db
    .prepare('SELECT count(*) AS "all", count(op) AS known FROM calls')
    .get() as Record<'all' | 'known', number>
  db.close()
  if (all === 0 || known !== (hasFacts ? all : 0)) throw new Error(`${known} of ${all} calls have facts`)
}
console.log(table(['calls', 'a second', 'main us/call', 'all us/call'], rows))
console.log(`\n${aimsTable(aims)}\n\nload after it ${loadNow().toFixed(1)}`)
