// What it costs to record every answer, and to run judges as background work. See docs/benchmarks/recording.md.

import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { benchmarkShape, writeRandomModel } from '../test/support/random-model.ts'
import { type Aim, aimOf, aimsTable, boundOf } from './aims.ts'
import { type Heddle, runOf, startHeddle } from './chat-contestants.ts'
import { shown, shownSpread, spreadOf, table } from './figures.ts'
import { checkJudged, pauseJudges, resumeJudges, startJudges } from './loop-judges.ts'
import { measurePrice } from './loop-price.ts'
import { childrenOf, loadNow, machineFacts, workOf } from './machine.ts'
import { Report, refuseWithoutPlace } from './report.ts'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    tokens: { type: 'string' },
    model: { type: 'string' },
    only: { type: 'string' },
    threads: { type: 'string' },
    markdown: { type: 'string' },
  },
})
const rounds = positive('rounds', options.rounds)
if (options.model !== undefined && options.model !== 'random' && options.model !== 'builtin')
  throw new Error(`--model ${options.model}: random or builtin; both by default`)
if (options.only !== undefined && !['price', 'recording', 'judges'].includes(options.only))
  throw new Error(`--only ${options.only}: price, recording or judges; all unless told`)
if (options.markdown) refuseWithoutPlace(options.markdown, 'loop')

const streamCounts = [1, 4, 8]
const shortPrompt = 24
const longPrompt = 256
/** Writes after an answer count as work of that answer. */
const settlingMs = 100

const threads: Record<string, string> =
  options.threads === undefined ? {} : { HEDDLE_THREADS: options.threads }

let asked = 0
const folder = await mkdtemp(join(tmpdir(), 'heddle-benchmark-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
await measure()

function positive(name: string, given: string): number {
  const number = Number(given)
  if (!(Number.isInteger(number) && number >= 1 && number <= 1000))
    throw new Error(`--${name} ${given}: a whole number from 1 to 1000`)
  return number
}

interface Measured {
  title: string
  source: string
  folder: string
  /** Per answer. */
  tokens: number
}

async function measure(): Promise<void> {
  const report = new Report('loop')
  const { date, commit, node, system, cpu, cores, memoryGb, load } = machineFacts(folder)
  report.say(
    `${date}, commit ${commit}, Node ${node} on ${system}; ${cpu}, ${cores} cores, ${memoryGb} GB; load before the run ${shown(load)}.`,
  )
  const random = join(folder, 'random-135m.gguf')
  const aims: Aim[] = []
  const onlyOne = options.only
  if (onlyOne === undefined || onlyOne === 'price') await tellPrice(report)
  for (const [name, title, source, usual] of [
    ['builtin', 'the built-in model', 'builtin', '512'],
    ['random', 'a random model of 135 million parameters', random, '96'],
  ] as const) {
    if (options.model !== undefined && options.model !== name) continue
    if (source === random) await writeRandomModel(random, benchmarkShape)
    const model = {
      title,
      source,
      folder: join(folder, name),
      tokens: positive('tokens', options.tokens ?? usual),
    }
    if (onlyOne === undefined || onlyOne === 'recording')
      aims.push(...(await measureRecording(model, report)))
    if (onlyOne === undefined || onlyOne === 'judges') aims.push(...(await measureJudges(model, report)))
  }
  if (aims.length > 0) {
    report.say('### Aims of the loop')
    report.say(aimsTable(aims))
  }
  report.say(`The load after the run was ${shown(loadNow())}.`)
  if (options.markdown) report.write(options.markdown)
}

async function tellPrice(report: Report): Promise<void> {
  const { off, all } = await measurePrice(join(folder, 'price'), 4 * rounds)
  const ms = (us: number[]) => shownSpread(spreadOf(us.map((one) => one / 1000)))
  report.say('### What recording an answer costs the server')
  report.say(
    'Milliseconds of processor time for a streamed answer of 256 tokens, with an engine that is played:',
  )
  report.say(
    table(
      ['answer', 'ms'],
      [
        ['with `x-heddle-record: off`', ms(off)],
        ['recorded', ms(all)],
        ['difference', ms(all.map((one, round) => one - (off[round] ?? Number.NaN)))],
      ],
    ),
  )
}

/** One of two ways that are compared, and its result in each round. */
interface Way {
  name: string
  server: Heddle
  begin?(): Promise<void>
  end?(): Promise<void>
}

interface Cell {
  /** Milliseconds until the first token, median of the streams. */
  first: number
  /** Of all streams together. */
  perSecond: number
  /** Microseconds of processor time for a generated token: of the server, and including the engine. */
  serverWork: number
  allWork: number
}

async function measureRecording(model: Measured, report: Report): Promise<Aim[]> {
  const ways: Way[] = []
  try {
    for (const record of ['off', 'all']) {
      const settings = { HEDDLE_RECORD: record, ...threads }
      const server = await startHeddle(await runOf(model.source), join(model.folder, record), settings)
      ways.push({ name: `HEDDLE_RECORD=${record}`, server })
    }
    report.say(`### Recording, ${model.title}`)
    const cells = await alternated(ways, model)
    tell(cells, report)
    return cells.flatMap(({ streams, base, other }) => {
      const name = `${model.title}, ${streams} streams, recorded`
      return [
        boundOf(`${name}: first token`, 1.02, ratios(other, base, 'first')),
        aimOf(`${name}: tokens a second`, 0.98, ratios(other, base, 'perSecond')),
        boundOf(`${name}: processor time of a token`, 1.02, ratios(other, base, 'allWork')),
      ]
    })
  } finally {
    await Promise.all(ways.map(({ server }) => server.stop()))
  }
}

async function measureJudges(model: Measured, report: Report): Promise<Aim[]> {
  const run = await runOf(model.source)
  const server = await startHeddle(run, join(model.folder, 'judged'), threads)
  try {
    const judges = await startJudges(server)
    await pauseJudges(server, judges)
    const ways = [
      { name: 'alone', server },
      {
        name: 'beside judges',
        server,
        begin: () => resumeJudges(server, judges),
        end: () => pauseJudges(server, judges),
      },
    ]
    report.say(`### Judges behind callers, ${model.title}`)
    const cells = await alternated(ways, model)
    await checkJudged(server, judges)
    tell(cells, report)
    return cells.flatMap(({ streams, base, other }) => {
      const name = `${model.title}, ${streams} streams, beside judges`
      return [aimOf(`${name}: tokens a second`, 0.95, ratios(other, base, 'perSecond'))]
    })
  } finally {
    await server.stop()
  }
}

interface Compared {
  streams: number
  base: { name: string; cells: Cell[] }
  other: { name: string; cells: Cell[] }
}

/** A B, then B A, and so on. */
async function alternated([base, other]: readonly Way[], model: Measured): Promise<Compared[]> {
  if (base === undefined || other === undefined) throw new Error('two ways are compared')
  const cells = streamCounts.map((streams) => ({
    streams,
    base: { name: base.name, cells: [] as Cell[] },
    other: { name: other.name, cells: [] as Cell[] },
  }))
  for (const { server } of [base, other]) await cellOf(server, 2, 32)
  for (let round = 0; round < rounds; round++) {
    for (const one of cells) {
      const both = [
        { way: base, into: one.base.cells },
        { way: other, into: one.other.cells },
      ]
      for (const { way, into } of round % 2 === 0 ? both : both.reverse()) {
        await way.begin?.()
        into.push(await cellOf(way.server, one.streams, model.tokens))
        await way.end?.()
      }
    }
  }
  return cells
}

async function cellOf({ ask, pid }: Heddle, streams: number, tokens: number): Promise<Cell> {
  const engines = childrenOf(pid)
  const work = () => {
    const server = workOf(pid)?.all ?? Number.NaN
    return {
      server,
      all: engines.reduce((sum, engine) => sum + (workOf(engine)?.all ?? Number.NaN), server),
    }
  }
  const read = await ask({ prompts: promptsOf(streams, longPrompt), tokens: 1 })
  const before = work()
  const written = await ask({ prompts: promptsOf(streams, shortPrompt), tokens })
  await sleep(settlingMs)
  const after = work()
  return {
    first: spreadOf(read.first).median,
    perSecond: (streams * tokens * 1000) / written.ms,
    serverWork: (after.server - before.server) / (streams * tokens),
    allWork: (after.all - before.all) / (streams * tokens),
  }
}

/** Each begins with tokens that no earlier prompt began with. */
function promptsOf(count: number, length: number): number[][] {
  return Array.from({ length: count }, () => {
    const salt = asked++
    return Array.from({ length }, (_, i) =>
      i === 0 ? 300 + (salt % 1000) : i === 1 ? 300 + Math.floor(salt / 1000) : 300 + ((31 * i) % 1100),
    )
  })
}

function ratios(of: { cells: Cell[] }, by: { cells: Cell[] }, figure: keyof Cell): number[] {
  return of.cells.map((cell, round) => cell[figure] / (by.cells[round]?.[figure] ?? Number.NaN))
}

function tell(cells: readonly Compared[], report: Report): void {
  const figures = ['first', 'perSecond', 'serverWork', 'allWork'] as const
  const spread = (values: number[]) => shownSpread(spreadOf(values))
  report.say(
    table(
      ['way', 'streams', 'first token ms', 'tokens/s', 'server us/token', 'all us/token'],
      cells.flatMap(({ streams, base, other }) => [
        ...[base, other].map((way) => [
          way.name,
          String(streams),
          ...figures.map((figure) => spread(way.cells.map((cell) => cell[figure]))),
        ]),
        ['ratio', String(streams), ...figures.map((figure) => spread(ratios(other, base, figure)))],
      ]),
    ),
  )
}
