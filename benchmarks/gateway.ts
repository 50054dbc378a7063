// What a Heddle in front of another one costs. See docs/benchmarks/gateway.md.

import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { benchmarkShape, writeRandomModel } from '../test/support/random-model.ts'
import { type Aim, aimOf, aimsTable, boundOf } from './aims.ts'
import { type Heddle, runOf, startHeddle } from './chat-contestants.ts'
import { measuringKey, start } from './contestants.ts'
import { quantile, shown, shownSpread, sorted, spreadOf, table } from './figures.ts'
import { type Kind, type OneByOne, openAsker } from './gateway-asker.ts'
import { measureRates } from './gateway-rates.ts'
import { childrenOf, loadNow, machineFacts, workOf } from './machine.ts'
import { Report, refuseWithoutPlace } from './report.ts'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    model: { type: 'string' },
    only: { type: 'string' },
    asked: { type: 'string', default: '200' },
    rates: { type: 'string', default: '100,300,1000' },
    seconds: { type: 'string', default: '10' },
    portkey: { type: 'string' },
    profiles: { type: 'string' },
    markdown: { type: 'string' },
  },
})
const rounds = positive('rounds', options.rounds)
const askedOneByOne = positive('asked', options.asked)
if (options.model !== undefined && options.model !== 'random' && options.model !== 'builtin')
  throw new Error(`--model ${options.model}: random or builtin; both by default`)
if (options.only !== undefined && !['latency', 'throughput', 'rates'].includes(options.only))
  throw new Error(`--only ${options.only}: latency, throughput or rates; all by default`)
const does = (part: 'latency' | 'throughput' | 'rates') => options.only === undefined || options.only === part
const rates = options.rates.split(',').map((rate) => positive('rates', rate))
const seconds = positive('seconds', options.seconds)
if (options.markdown) refuseWithoutPlace(options.markdown, 'gateway')

const streams = 32
const promptLength = 24
/** Writes after an answer count as work of that answer. */
const settlingMs = 100
const kinds: readonly Kind[] = ['whole', 'stream']
/** How often each way is used before it is measured, so that its code is compiled. */
const warming = 1_000
const ways = ['direct', 'proxy', 'through'] as const
type Way = (typeof ways)[number]
/** The ways take turns: each follows each other one equally often, so that work after an answer affects all of them alike. */
const orders: readonly (readonly Way[])[] = [
  ['direct', 'proxy', 'through'],
  ['direct', 'through', 'proxy'],
  ['through', 'proxy', 'direct'],
  ['proxy', 'direct', 'through'],
  ['proxy', 'through', 'direct'],
  ['through', 'direct', 'proxy'],
]
const shownWays: Record<Way, string> = {
  direct: 'direct',
  proxy: 'a bare proxy',
  through: 'through',
}

let asked = 0

const folder = await mkdtemp(join(tmpdir(), 'heddle-benchmark-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
await measure()

function positive(name: string, given: string): number {
  const number = Number(given)
  if (!(Number.isInteger(number) && number >= 1 && number <= 10_000))
    throw new Error(`--${name} ${given}: a whole number from 1 to 10000`)
  return number
}

/** One server with the model, and one in front of it. */
interface Pair {
  behind: Heddle
  front: Heddle
}

async function measure(): Promise<void> {
  const report = new Report('gateway')
  const { date, commit, node, system, cpu, cores, memoryGb, load } = machineFacts(folder)
  report.say(
    `${date}, commit ${commit}, Node ${node} on ${system}; ${cpu}, ${cores} cores, ${memoryGb} GB; load before the run ${shown(load)}.`,
  )
  const aims: Aim[] = []
  if (does('rates')) {
    const { portkey, profiles } = options
    aims.push(
      ...(await measureRates(report, join(folder, 'rates'), {
        rates,
        seconds,
        rounds,
        ...(portkey !== undefined && { portkey }),
        ...(profiles !== undefined && { profiles }),
      })),
    )
  }
  const random = join(folder, 'random-135m.gguf')
  for (const [name, title, source, tokens] of [
    ['builtin', 'the built-in model', 'builtin', 128],
    ['random', 'a random model of 135 million parameters', random, 48],
  ] as const) {
    if (options.model !== undefined && options.model !== name) continue
    if (!does('latency') && !does('throughput')) continue
    if (source === random) await writeRandomModel(random, benchmarkShape)
    const pair = await startPair(source, join(folder, name))
    try {
      if (does('latency') && name === 'builtin') aims.push(...(await measureLatency(pair, report)))
      if (does('throughput')) aims.push(...(await measureThroughput(pair, { title, tokens }, report)))
    } finally {
      await pair.front.stop()
      await pair.behind.stop()
    }
  }
  report.say('### Aims of the gateway')
  report.say(aimsTable(aims))
  report.say(`The load after the run was ${shown(loadNow())}.`)
  if (options.markdown) report.write(options.markdown)
}

/**
 * The server in front records every answer, as it does by default, and the one behind records none, as a server of
 * another kind would.
 */
async function startPair(source: string, place: string): Promise<Pair> {
  const run = { ...(await runOf(source)), parallel: streams }
  const behind = await startHeddle(run, join(place, 'behind'), { HEDDLE_RECORD: 'off' })
  const upstream = { ...run, source: `${behind.address}/v1` }
  const front = await startHeddle(upstream, join(place, 'front'), { HEDDLE_UPSTREAM_KEY: measuringKey })
  return { behind, front }
}

/** One request after the other, alternating between the ways: the added latency is the difference between neighbours. */
async function measureLatency({ behind, front }: Pair, report: Report): Promise<Aim[]> {
  const proxy = await start('proxy', { PROXIED: behind.address })
  const askers = { direct: openAsker(behind), proxy: openAsker(proxy), through: openAsker(front) }
  const rows: string[][] = []
  const aims: Aim[] = []
  try {
    for (const kind of kinds) {
      const inTurns = async (times: number) => {
        const asked = { direct: [] as OneByOne[], proxy: [] as OneByOne[], through: [] as OneByOne[] }
        for (let i = 0; i < times; i++) {
          for (const way of orders[i % orders.length] as readonly Way[])
            asked[way].push(await askers[way].ask(kind))
        }
        return asked
      }
      const cold = await inTurns(askedOneByOne)
      await inTurns(Math.max(0, warming - askedOneByOne))
      const series = { direct: [] as Latency[], proxy: [] as Latency[], through: [] as Latency[] }
      for (let round = 0; round < rounds; round++) {
        const times = await inTurns(askedOneByOne)
        for (const way of ways) series[way].push(latencyOf(times[way], times.direct))
      }
      for (const way of ways) {
        const spread = (pick: (one: Latency) => number) => shownSpread(spreadOf(series[way].map(pick)))
        rows.push([
          kind,
          shownWays[way],
          ...[({ p50 }: Latency) => p50, ({ p99 }: Latency) => p99, ({ end }: Latency) => end].map(spread),
          ...(way === 'direct'
            ? ['', '']
            : [spread(({ added }) => added), shown(latencyOf(cold[way], cold.direct).added)]),
        ])
      }
      const what = kind === 'whole' ? 'a whole answer of one token' : 'the first token of a stream'
      const added = series.through.map((one) => one.added)
      aims.push(boundOf(`${what}: added ms at the median`, 1, added))
    }
  } finally {
    for (const asker of Object.values(askers)) asker.close()
    await proxy.stop()
  }
  report.say('### Added latency')
  report.say(
    `One request at a time on a kept connection, ${askedOneByOne} by each way in each of ${rounds} rounds, the ways in turns, after ${warming} to warm up; of these the first ${askedOneByOne} stand at the right:`,
  )
  report.say(
    table(['answer', 'way', 'p50 ms', 'p99 ms', 'end p50 ms', 'added p50 ms', 'added at first'], rows),
  )
  return aims
}

/**
 * Milliseconds: of the first content, of the end, and how much later the first content comes than that of its direct
 * neighbour.
 */
interface Latency {
  p50: number
  p99: number
  end: number
  added: number
}

function latencyOf(times: readonly OneByOne[], direct: readonly OneByOne[]): Latency {
  const firsts = sorted(times.map(({ first }) => first))
  return {
    p50: quantile(firsts, 0.5),
    p99: quantile(firsts, 0.99),
    end: quantile(sorted(times.map(({ end }) => end)), 0.5),
    added: quantile(sorted(times.map(({ first }, i) => first - (direct[i]?.first ?? Number.NaN))), 0.5),
  }
}

interface Cell {
  /** Of all streams together. */
  perSecond: number
  /** Microseconds of processor time for a token: of the server in front, of the one behind, and of its engine. */
  front: number
  behind: number
  engine: number
}

interface Throughput {
  title: string
  /** Per answer. */
  tokens: number
}

/** A B, then B A, and so on. */
async function measureThroughput(pair: Pair, { title, tokens }: Throughput, report: Report): Promise<Aim[]> {
  const ways = [
    { name: 'direct', server: pair.behind, cells: [] as Cell[] },
    { name: 'through', server: pair.front, cells: [] as Cell[] },
  ]
  for (const { server } of ways) await cellOf(pair, server, tokens)
  for (let round = 0; round < rounds; round++) {
    for (const { server, cells } of round % 2 === 0 ? ways : ways.toReversed())
      cells.push(await cellOf(pair, server, tokens))
  }
  const [direct, through] = ways as [(typeof ways)[0], (typeof ways)[0]]
  const ratios = through.cells.map(
    ({ perSecond }, i) => perSecond / (direct.cells[i]?.perSecond ?? Number.NaN),
  )
  report.say(`### ${streams} streams, ${title}`)
  report.say(
    table(
      ['way', 'tokens/s', 'of direct', 'in front us/token', 'behind us/token', 'its engine us/token'],
      ways.map(({ name, cells }) => [
        name,
        shownSpread(spreadOf(cells.map(({ perSecond }) => perSecond))),
        name === 'direct' ? '1' : shownSpread(spreadOf(ratios)),
        ...(['front', 'behind', 'engine'] as const).map((figure) =>
          shownSpread(spreadOf(cells.map((cell) => cell[figure]))),
        ),
      ]),
    ),
  )
  return [aimOf(`${title}: tokens a second, ${streams} streams, of direct`, 0.9, ratios)]
}

async function cellOf({ behind, front }: Pair, server: Heddle, tokens: number): Promise<Cell> {
  const work = () => ({
    front: workOf(front.pid)?.all ?? Number.NaN,
    behind: workOf(behind.pid)?.all ?? Number.NaN,
    engine: childrenOf(behind.pid).reduce((sum, one) => sum + (workOf(one)?.all ?? Number.NaN), 0),
  })
  const prompts = Array.from({ length: streams }, () => {
    const salt = asked++
    return Array.from({ length: promptLength }, (_, i) =>
      i === 0 ? 300 + (salt % 1000) : 300 + ((31 * i) % 1100),
    )
  })
  const before = work()
  const { ms } = await server.ask({ prompts, tokens })
  await sleep(settlingMs)
  const after = work()
  const perToken = (what: keyof typeof after) => (after[what] - before[what]) / (streams * tokens)
  return {
    perSecond: (streams * tokens * 1000) / ms,
    front: perToken('front'),
    behind: perToken('behind'),
    engine: perToken('engine'),
  }
}
