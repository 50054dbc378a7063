// How fast answers are generated: this server over HTTP beside the package that it is made of. See docs/benchmarks/answers.md.

import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { benchmarkShape, writeRandomModel } from '../test/support/random-model.ts'
import { type Aim, aimOf, aimsTable, boundOf } from './aims.ts'
import {
  type Answering,
  type Heddle,
  type ModelRun,
  runOf,
  startHeddle,
  startLlamaServer,
  startPackageAlone,
} from './chat-contestants.ts'
import { idleConnections, type Question } from './event-streams.ts'
import { shown, shownSpread, spreadOf, table } from './figures.ts'
import { loadNow, machineFacts } from './machine.ts'
import { Report, refuseWithoutPlace } from './report.ts'

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    tokens: { type: 'string' },
    model: { type: 'string' },
    'llama-server': { type: 'string' },
    markdown: { type: 'string' },
  },
})
/** The built-in model is so fast that fewer tokens would be over before they can be measured. */
const plan = options.quick
  ? { random: { rounds: 3, tokens: 48 }, builtin: { rounds: 4, tokens: 256 }, minutes: 2.5 }
  : { random: { rounds: 5, tokens: 128 }, builtin: { rounds: 8, tokens: 512 }, minutes: 20 }
for (const length of [plan.random, plan.builtin]) {
  length.rounds = positive('rounds', length.rounds)
  length.tokens = positive('tokens', length.tokens)
}
if (options.model !== undefined && options.model !== 'random' && options.model !== 'builtin')
  throw new Error(`--model ${options.model}: random or builtin; both unless told`)
if (options.markdown) refuseWithoutPlace(options.markdown, 'chat')

const streamCounts = [1, 2, 4, 8]
const shortPrompt = 24
const longPrompt = 256
const prefixTokens = 2000
/** Of all streams, where the cost of something is asked for. */
const costStreams = 4
const idle = 64

let asked = 0

const longest = (options.quick ? 10 : 40) * 60_000
setTimeout(() => {
  console.error('chat: took too long, stopped')
  process.exit(1)
}, longest).unref()

/** Where two threads have less than two cores an answer takes thirty times as long: then one round of each has to do. */
const isLate = () => performance.now() > plan.minutes * 60_000
let cut = false

const folder = await mkdtemp(join(tmpdir(), 'heddle-benchmark-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
await measure()

function positive(name: 'rounds' | 'tokens', usual: number): number {
  const given = Number(options[name] ?? usual)
  if (!(Number.isInteger(given) && given >= 1 && given <= 1000))
    throw new Error(`--${name} ${options[name]}: a whole number from 1 to 1000`)
  return given
}

function isToRun(round: number, most: number): boolean {
  if (round === 0) return true
  if (round < most && isLate()) cut = true
  return round < most && !isLate()
}

async function measure(): Promise<void> {
  const report = new Report('chat')
  const began = performance.now()
  const machine = machineFacts(folder)
  report.say(
    `${machine.date}, commit ${machine.commit}, Node ${machine.node} on ${machine.system}; ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB; load before the run ${shown(machine.load)}${options.quick ? '; as short as in `chat:quick`' : ''}.`,
  )
  if (options['llama-server'] === undefined) report.say('llama-server was not run: no path to one was given.')
  const random = join(folder, 'random-135m.gguf')
  const models: Measured[] = [
    { name: 'random', title: 'a random model of 135 million parameters', source: random, ...plan.random },
    { name: 'builtin', title: 'the built-in model', source: 'builtin', ...plan.builtin },
  ]
  const aims: Aim[] = []
  for (const model of models) {
    if (options.model !== undefined && options.model !== model.name) continue
    if (model.source === random) await writeRandomModel(random, benchmarkShape)
    aims.push(...(await measureModel(model, report)))
  }
  report.say('### Aims of answers')
  report.say(aimsTable(aims))
  const minutes = (performance.now() - began) / 60_000
  report.say(
    `Every answer had as many tokens as were asked for. ${cut ? 'It took so long that there were fewer rounds than planned. ' : ''}The run took ${minutes.toFixed(1)} minutes, and the load after it was ${shown(loadNow())}.`,
  )
  if (options.markdown) report.write(options.markdown)
}

interface Measured {
  name: string
  title: string
  /** As HEDDLE_MODEL says it. */
  source: string
  rounds: number
  /** Of an answer. */
  tokens: number
}

async function measureModel(model: Measured, report: Report): Promise<Aim[]> {
  const { name, title, source, rounds, tokens } = model
  const run = await runOf(source)
  report.say(`### Answers of ${title}`)
  report.say(
    `${run.threads} thread${run.threads === 1 ? '' : 's'}, ${run.parallel} sequences of ${run.context} tokens; ${rounds} rounds, ${tokens} tokens an answer.`,
  )
  const started: Answering[] = []
  try {
    const heddle = await startHeddle(run, join(folder, name))
    started.push(heddle)
    started.push(await startPackageAlone(run))
    const command = options['llama-server']
    if (command !== undefined) started.push(await startLlamaServer(command, run))
    for (const { ask } of started) await ask({ prompts: promptsOf(2, longPrompt), tokens: 16 })
    return [
      ...speedAims(title, await measureSpeeds(model, started, report)),
      ...(await measurePrefix(model, started, run, report)),
      ...(await measureCosts(model, heddle, report)),
    ]
  } finally {
    await Promise.all(started.map(({ stop }) => stop()))
  }
}

/** Each begins with tokens that no prompt before it began with, so that nothing is remembered. */
function promptsOf(count: number, length: number): number[][] {
  return Array.from({ length: count }, () => {
    const salt = asked++
    return Array.from({ length }, (_, i) =>
      i === 0 ? 300 + (salt % 1000) : i === 1 ? 300 + Math.floor(salt / 1000) : 300 + ((31 * i) % 1100),
    )
  })
}

interface Speeds {
  name: string
  streams: number
  /** Tokens a second of all streams together, of each round. */
  prompt: number[]
  generation: number[]
  /** Milliseconds, of each stream. */
  first: number[]
}

/** A B, then B A, and so on. */
function inTurn<Value>(all: readonly Value[], round: number): readonly Value[] {
  return round % 2 === 0 ? all : all.toReversed()
}

async function measureSpeeds(
  { rounds, tokens }: Measured,
  contestants: readonly Answering[],
  report: Report,
): Promise<Speeds[]> {
  const all: Speeds[] = streamCounts.flatMap((streams) =>
    contestants.map(({ name }) => ({ name, streams, prompt: [], generation: [], first: [] })),
  )
  for (let round = 0; isToRun(round, rounds); round++) {
    for (const streams of streamCounts) {
      const long = promptsOf(streams, longPrompt)
      const short = promptsOf(streams, shortPrompt)
      for (const { name, ask } of inTurn(contestants, round)) {
        const mine = all.find((one) => one.name === name && one.streams === streams)
        const read = await ask({ prompts: long, tokens: 1 })
        const written = await ask({ prompts: short, tokens })
        mine?.prompt.push((streams * longPrompt * 1000) / Math.max(...read.first))
        mine?.first.push(...read.first)
        mine?.generation.push((streams * tokens * 1000) / written.ms)
      }
    }
  }
  report.say(
    table(
      [
        'contestant',
        'streams',
        'prompt tokens/s',
        'generated tokens/s',
        'of node-llama-cpp',
        'first token ms, median',
        'worst',
      ],
      all.map((one) => {
        const { median, most } = spreadOf(one.first)
        return [
          one.name,
          String(one.streams),
          shownSpread(spreadOf(one.prompt)),
          shownSpread(spreadOf(one.generation)),
          one.name === 'node-llama-cpp' ? '1' : shownSpread(spreadOf(ofPackage(all, one))),
          shown(median),
          shown(most),
        ]
      }),
    ),
  )
  return all
}

/** Generated tokens a second beside those of the package, round by round. */
function ofPackage(all: readonly Speeds[], { name, streams }: Pick<Speeds, 'name' | 'streams'>): number[] {
  const speeds = (of: string) =>
    all.find((one) => one.name === of && one.streams === streams)?.generation ?? []
  const beside = speeds('node-llama-cpp')
  return speeds(name).map((speed, round) => speed / (beside[round] ?? Number.NaN))
}

function speedAims(title: string, all: readonly Speeds[]): Aim[] {
  return streamCounts.map((streams) =>
    aimOf(
      `${title}, ${streams} stream${streams === 1 ? '' : 's'}, generated tokens/s of node-llama-cpp`,
      0.95,
      ofPackage(all, { name: 'heddle', streams }),
    ),
  )
}

/** Two requests after each other whose prompts begin with the same tokens and end with others. */
async function measurePrefix(
  { title, rounds }: Measured,
  contestants: readonly Answering[],
  run: ModelRun,
  report: Report,
): Promise<Aim[]> {
  const length = Math.min(prefixTokens, run.context - 8)
  const waits = contestants.map(({ name }) => ({ name, first: [] as number[], second: [] as number[] }))
  for (let round = 0; isToRun(round, rounds); round++) {
    const [prefix = []] = promptsOf(1, length)
    for (const { name, ask } of inTurn(contestants, round)) {
      const wait = waits.find((one) => one.name === name)
      const waited = async (end: number[]) => {
        const question: Question = { prompts: [[...prefix, ...end]], tokens: 1 }
        if (name === 'heddle') question.fields = { cache_salt: `prefix ${round}` }
        return (await ask(question)).first[0] ?? Number.NaN
      }
      wait?.first.push(await waited([301, 302, 303]))
      wait?.second.push(await waited([304, 305, 306]))
    }
  }
  const ratio = ({ first, second }: (typeof waits)[number]) =>
    second.map((ms, round) => ms / (first[round] ?? Number.NaN))
  report.say(`Milliseconds until the first token of two requests that begin with the same ${length} tokens:`)
  report.say(
    table(
      ['contestant', 'first request', 'second', 'second of first'],
      waits.map((wait) => [
        wait.name,
        shownSpread(spreadOf(wait.first)),
        shownSpread(spreadOf(wait.second)),
        shownSpread(spreadOf(ratio(wait))),
      ]),
    ),
  )
  const mine = waits.filter(({ name }) => name === 'heddle')
  return mine.map((wait) =>
    boundOf(`${title}, second first token of the first, same ${length} tokens`, 0.1, ratio(wait)),
  )
}

/** What some things take from the speed of the server: the share of the tokens a second that goes away. */
async function measureCosts(
  { title, rounds, tokens }: Measured,
  { ask, address }: Heddle,
  report: Report,
): Promise<Aim[]> {
  const speed = async (fields: Record<string, unknown>) => {
    const { ms } = await ask({ prompts: promptsOf(costStreams, shortPrompt), tokens, fields })
    return (costStreams * tokens * 1000) / ms
  }
  const plain: Kind = { name: 'nothing', speeds: [], measure: () => speed({}) }
  const logprobs: Kind = { name: 'logprobs, 5 candidates', speeds: [], measure: () => speed({ logprobs: 5 }) }
  const others: Kind[] = [
    { name: 'logit_bias, 1 token', speeds: [], measure: () => speed({ logit_bias: { 300: -1 } }) },
    {
      name: `${idle} idle connections`,
      speeds: [],
      async measure() {
        const close = await idleConnections(address, idle)
        try {
          return await speed({})
        } finally {
          close()
        }
      },
    },
  ]
  const kinds = [plain, logprobs, ...others]
  for (let round = 0; isToRun(round, 2 * rounds); round++) {
    for (const kind of inTurn(kinds, round)) kind.speeds.push(await kind.measure())
  }
  const cost = ({ speeds }: Kind) => speeds.map((one, round) => 1 - one / (plain.speeds[round] ?? Number.NaN))
  report.say(`What things cost, ${costStreams} streams of heddle:`)
  report.say(
    table(
      ['with', 'generated tokens/s', 'share that is lost'],
      kinds.map((kind) => [
        kind.name,
        shownSpread(spreadOf(kind.speeds)),
        kind === plain ? '0' : shownSpread(spreadOf(cost(kind))),
      ]),
    ),
  )
  return [boundOf(`${title}, share that 5 logprobs cost`, 0.15, cost(logprobs))]
}

interface Kind {
  name: string
  speeds: number[]
  measure(): Promise<number>
}
