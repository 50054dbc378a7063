// What the record costs: single reads and writes, batches, and how far that is from doing less. See docs/benchmarks.md.

import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { batchMaker, project, startBody } from './calls.ts'
import { type Contestant, type Name, start } from './contestants.ts'
import { shown, shownSpread, spreadOf, table } from './figures.ts'
import { type BulkRound, drive, post, type Round, sendAll } from './load.ts'
import { machineFacts } from './machine.ts'
import { openRows } from './rows.ts'

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    folder: { type: 'string', default: tmpdir() },
  },
})
const plan = options.quick
  ? { rounds: 2, seconds: 0.6, warmUp: 0.6, bulkRounds: 2, bulkBytes: 20e6 }
  : { rounds: 5, seconds: 1.2, warmUp: 1.5, bulkRounds: 4, bulkBytes: 40e6 }
const connectionCounts = [1, 16, 64]
const longest = 10 * 60_000
setTimeout(() => {
  console.error('record: took too long, stopped')
  process.exit(1)
}, longest).unref()

const folder = await mkdtemp(join(options.folder, 'heddle-benchmark-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
await measure()

async function newFolder(name: string): Promise<string> {
  const path = join(folder, name)
  await mkdir(path)
  return path
}

async function measure(): Promise<void> {
  const machine = machineFacts(folder)
  say(
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB; Node ${machine.node}; commit ${machine.commit}; ${machine.date}`,
  )
  say(
    `fsync of a page p50 ${shown(machine.fsyncMs.p50)} ms, p99 ${shown(machine.fsyncMs.p99)} ms; load before the run ${shown(machine.load)}`,
  )
  const { reads, writes, checks } = await measureSingle()
  const bulk = await measureBulk()
  const aims = [
    aimOf('reads of bare Fastify, 64 connections', 0.7, ratios(reads, 64, 'heddle', 'bare')),
    aimOf('durable writes of one by one, 64 connections', 8, ratios(writes, 64, 'heddle', 'one by one')),
    ...bulk.cells.map((cell) =>
      aimOf(
        `bulk of the raw insert, ${cell.megabytes} MB, ${cell.connections} connections`,
        0.5,
        cell.rounds.map(({ raw, http }) => raw.seconds / http.seconds),
      ),
    ),
  ]
  say('\nAims\n')
  say(
    table(
      ['ratio', 'aim', 'figure', 'reached'],
      aims.map(({ name, aim, figure, reached }) => [
        name,
        `>= ${aim}`,
        shownSpread(figure),
        reached ? 'yes' : 'no',
      ]),
    ),
  )
  const byWork = {
    reads: spreadOf(workRatios(reads, 64, 'bare', 'heddle')),
    writes: spreadOf(workRatios(writes, 64, 'one by one', 'heddle')),
  }
  say(
    `\nBy processor time of the main thread, 64 connections: reads ${shownSpread(byWork.reads)} of bare, writes ${shownSpread(byWork.writes)} of one by one.`,
  )
  if (options.json)
    await writeFile(
      options.json,
      `${JSON.stringify({ machine, plan, reads, writes, bulk, checks, aims, byWork }, null, 2)}\n`,
    )
}

function say(line: string): void {
  console.log(line)
}

function aimOf(name: string, aim: number, perRound: readonly number[]) {
  const figure = spreadOf(perRound)
  return { name, aim, figure, reached: figure.median >= aim }
}

type Rounds = { name: Name; connections: number; rounds: Round[] }[]

function roundsOf(all: Rounds, connections: number, name: Name): Round[] {
  return all.find((one) => one.name === name && one.connections === connections)?.rounds ?? []
}

/** Round by round, because what ran at the same time ran on the same machine. */
function ratios(all: Rounds, connections: number, name: Name, other: Name): number[] {
  const others = roundsOf(all, connections, other)
  return roundsOf(all, connections, name).map(
    ({ perSecond }, i) => perSecond / (others[i]?.perSecond ?? Number.NaN),
  )
}

/** What a request of one costs, as a share of what it costs the other. */
function workRatios(all: Rounds, connections: number, name: Name, other: Name): number[] {
  const others = roundsOf(all, connections, other)
  return roundsOf(all, connections, name).map(
    ({ work }, i) => (work?.main ?? Number.NaN) / (others[i]?.work?.main ?? Number.NaN),
  )
}

async function measureSingle() {
  const heddle = await start('heddle', { HEDDLE_DATA: await newFolder('heddle') })
  const { body, rows } = batchMaker(200)()
  const seeded = await post(heddle, '/call/upsert_batch', body)
  if (seeded.status !== 200) throw new Error(`upsert_batch answered ${seeded.status}: ${seeded.text}`)
  const readBodies = rows.map((row) => JSON.stringify({ project_id: project, id: row[1] }))
  const record = await post(heddle, '/call/read', readBodies[0] as string)
  if (record.status !== 200) throw new Error(`read answered ${record.status}: ${record.text}`)

  const bareFolder = await newFolder('bare')
  await writeFile(join(bareFolder, 'record.json'), record.text)
  const bare = await start('bare', { HEDDLE_DATA: bareFolder })
  const oneByOne = await start('one by one', { HEDDLE_DATA: await newFolder('one-by-one') })
  const inline = await start('inline', { HEDDLE_DATA: await newFolder('inline') })
  const all = [heddle, bare, oneByOne, inline]
  try {
    const acknowledged = new Map<Contestant, number>(all.map((one) => [one, 0]))
    const reads = await alternate([heddle, bare], '/call/read', readBodies)
    say(`\nReads: POST /call/read, ${readBodies[0]?.length} bytes in, ${record.text.length} bytes out\n`)
    say(tableOf(reads, 'bare'))

    const writes = await alternate([heddle, oneByOne, inline, bare], '/call/start', [startBody], acknowledged)
    say(`\nDurable writes: POST /call/start, ${startBody.length} bytes in\n`)
    say(tableOf(writes, 'one by one'))

    const checks = [
      {
        name: heddle.name,
        acknowledged: acknowledged.get(heddle),
        stored: (await countOf(heddle)) - rows.length,
      },
      { name: oneByOne.name, acknowledged: acknowledged.get(oneByOne), stored: await countOf(oneByOne) },
      { name: inline.name, acknowledged: acknowledged.get(inline), stored: await countInline(inline) },
    ]
    say('')
    for (const { name, acknowledged, stored } of checks) {
      if (acknowledged !== stored) throw new Error(`${name}: ${acknowledged} acknowledged, ${stored} stored`)
      say(`${name}: ${stored} writes acknowledged, as many stored`)
    }
    return { reads, writes, checks }
  } finally {
    await Promise.all(all.map((one) => one.stop()))
  }
}

/** A B C, C B A, A B C: each round of one stands next to a round of the others. */
async function alternate(
  contestants: readonly Contestant[],
  path: string,
  bodies: readonly string[],
  acknowledged?: Map<Contestant, number>,
): Promise<Rounds> {
  const one = async (contestant: Contestant, connections: number, seconds: number) => {
    const round = await drive(contestant, { path, bodies, connections, seconds })
    if (round.failed > 0) throw new Error(`${contestant.name}, ${path}: ${round.failures}`)
    acknowledged?.set(contestant, (acknowledged.get(contestant) ?? 0) + round.acknowledged)
    return round
  }
  for (const contestant of contestants) await one(contestant, 16, plan.warmUp)
  const all: Rounds = connectionCounts.flatMap((connections) =>
    contestants.map(({ name }) => ({ name: name as Name, connections, rounds: [] })),
  )
  for (let i = 0; i < plan.rounds; i++) {
    for (const connections of connectionCounts) {
      for (const contestant of i % 2 === 0 ? contestants : contestants.toReversed()) {
        roundsOf(all, connections, contestant.name as Name).push(
          await one(contestant, connections, plan.seconds),
        )
      }
    }
  }
  return all
}

function tableOf(all: Rounds, beside: Name): string {
  const cells = all.map(({ name, connections, rounds }) => {
    const spread = (pick: (round: Round) => number | undefined) =>
      spreadOf(rounds.map((round) => pick(round) ?? Number.NaN))
    return [
      name,
      String(connections),
      shownSpread(spread((round) => round.perSecond)),
      shown(spread((round) => round.p50).median),
      shown(spread((round) => round.p99).median),
      shown(spread((round) => round.work?.main).median),
      shown(spread((round) => round.work?.all).median),
      shown(spread((round) => (round.busy ?? Number.NaN) * 100).median),
      name === beside ? '1' : shownSpread(spreadOf(ratios(all, connections, name, beside))),
    ]
  })
  return table(
    [
      'server',
      'conn.',
      'requests/s',
      'p50 ms',
      'p99 ms',
      'main us/req',
      'all us/req',
      'main busy %',
      `of ${beside}`,
    ],
    cells,
  )
}

async function countOf(server: Contestant): Promise<number> {
  const { status, text } = await post(server, '/calls/query_stats', JSON.stringify({ project_id: project }))
  if (status !== 200) throw new Error(`query_stats answered ${status}: ${text}`)
  return (JSON.parse(text) as { count: number }).count
}

async function countInline(server: Contestant): Promise<number> {
  const answer = await fetch(`${server.address}/count`, { headers: server.headers })
  return ((await answer.json()) as { count: number }).count
}

interface BulkCell {
  megabytes: number
  connections: number
  calls: number
  rounds: { raw: { seconds: number }; http: BulkRound & { megabytes: number; longestDelayMs: number } }[]
}

/** The same calls to the server and straight into a table, turn by turn. */
async function measureBulk() {
  const heddle = await start('heddle', { HEDDLE_DATA: await newFolder('bulk') })
  const raw = openRows(await newFolder('raw'))
  const perMegabyte = Math.floor(1e6 / (batchMaker(1000)().body.length / 1000))
  let sent = 0
  try {
    const cells: BulkCell[] = []
    for (const megabytes of [1, 10]) {
      for (const connections of [1, 4]) cells.push({ megabytes, connections, calls: 0, rounds: [] })
    }
    const makers = new Map([1, 10].map((megabytes) => [megabytes, batchMaker(perMegabyte * megabytes)]))
    const turn = async (cell: BulkCell, bytes: number) => {
      const make = makers.get(cell.megabytes)
      if (make === undefined) throw new Error('no batches of this size')
      const batches = Array.from({ length: Math.max(1, Math.round(bytes / (cell.megabytes * 1e6))) }, make)
      const calls = batches.reduce((sum, { rows }) => sum + rows.length, 0)
      const rawBefore = performance.now()
      for (const { rows } of batches) raw.insert(rows)
      const seconds = (performance.now() - rawBefore) / 1000
      await longestDelay(heddle)
      const http = await sendAll(
        heddle,
        '/call/upsert_batch',
        batches.map(({ body }) => body),
        cell.connections,
      )
      const longestDelayMs = await longestDelay(heddle)
      if (http.failed > 0) throw new Error(`${http.failed} batches were not answered with 200`)
      sent += calls
      const size = batches.reduce((sum, { body }) => sum + body.length, 0) / 1e6
      return { calls, raw: { seconds }, http: { ...http, megabytes: size, longestDelayMs } }
    }
    for (const cell of cells) await turn(cell, 10e6)
    for (let i = 0; i < plan.bulkRounds; i++) {
      for (const cell of i % 2 === 0 ? cells : cells.toReversed()) {
        const { calls, ...round } = await turn(cell, plan.bulkBytes)
        cell.calls = calls
        cell.rounds.push(round)
      }
    }
    const stored = await countOf(heddle)
    if (stored !== sent || raw.count() !== sent)
      throw new Error(`bulk: ${sent} calls sent, ${stored} stored, ${raw.count()} raw`)

    say(
      '\nBulk: POST /call/upsert_batch, a start and an end for each call, beside the same rows inserted raw\n',
    )
    say(
      table(
        [
          'batch',
          'conn.',
          'calls/s',
          'MB/s',
          'raw calls/s',
          'of raw',
          'main us/call',
          'all us/call',
          'longest delay ms',
        ],
        cells.map(({ megabytes, connections, calls, rounds }) => [
          `${megabytes} MB`,
          String(connections),
          shownSpread(spreadOf(rounds.map(({ http }) => calls / http.seconds))),
          shown(spreadOf(rounds.map(({ http }) => http.megabytes / http.seconds)).median),
          shownSpread(spreadOf(rounds.map(({ raw }) => calls / raw.seconds))),
          shownSpread(spreadOf(rounds.map(({ raw, http }) => raw.seconds / http.seconds))),
          shown(spreadOf(rounds.map(({ http }) => (http.work?.main ?? Number.NaN) / calls)).median),
          shown(spreadOf(rounds.map(({ http }) => (http.work?.all ?? Number.NaN) / calls)).median),
          shownSpread(spreadOf(rounds.map(({ http }) => http.longestDelayMs))),
        ]),
      ),
    )
    say(`\nbulk: ${stored} calls acknowledged, as many stored`)
    return { cells, acknowledged: sent, stored }
  } finally {
    raw.close()
    await heddle.stop()
  }
}

/** The longest time that the event loop was away since this was asked last. */
async function longestDelay(server: Contestant): Promise<number> {
  const answer = await fetch(`${server.address}/metrics`, {
    headers: { authorization: server.headers.authorization ?? '' },
  })
  const text = await answer.text()
  const seconds = /^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)?.[1]
  return Number(seconds ?? Number.NaN) * 1000
}
