// What guessing tokens ahead gains and costs: with HEDDLE_SPECULATION on and off, alternately. See
// docs/benchmarks/guessing.md.

import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  createEmbeddedBackend,
  type EmbeddedBackend,
  type Generation,
  type GenerationEvent,
  prepareModel,
} from '../packages/engine/index.ts'
import { createConstraintCompiler } from '../src/inference/constraints/compile.ts'
import { generationOf } from '../test/support/generations.ts'
import { benchmarkShape, writeRandomModel } from '../test/support/random-model.ts'
import { shownSpread, spreadOf, table } from './figures.ts'
import { machineFacts, workOf } from './machine.ts'
import { Report, refuseWithoutPlace } from './report.ts'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '8' },
    model: { type: 'string' },
    only: { type: 'string' },
    threads: { type: 'string', default: '0' },
    streams: { type: 'string', default: '1,4' },
    markdown: { type: 'string' },
  },
})
const streamCounts = options.streams.split(',').map(Number)
if (streamCounts.some((count) => !(Number.isInteger(count) && count >= 1 && count <= 8)))
  throw new Error(`--streams ${options.streams}: whole numbers from 1 to 8 with commas between them`)
if (options.markdown) refuseWithoutPlace(options.markdown, 'speculation')

const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const folder = await mkdtemp(join(tmpdir(), 'heddle-benchmark-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))

const fields = [
  'name',
  'temperature',
  'description_of_the_place',
  'number_of_inhabitants',
  'is_a_capital_city',
]
const schema = {
  type: 'object',
  properties: {
    kind: { const: 'a description of a place, as it was asked for' },
    ...Object.fromEntries(fields.map((name) => [name, { type: 'boolean' }])),
  },
  required: ['kind', ...fields],
  additionalProperties: false,
}

interface Task {
  name: string
  /** Of one stream; the number varies it. */
  generation(number: number): Generation
  /** Each is generated once without measuring, and its answer with every 32nd word changed is the prediction. */
  isForetold?: boolean
}

const compiler = createConstraintCompiler()
const promptOf = (number: number) => ({
  tokens: [300 + number, ...Array.from({ length: 23 }, (_, i) => 400 + 31 * i)],
})

/** At temperature 0 the answers of a random model soon repeat themselves. */
const repeated = (number: number) =>
  generationOf({
    prompt: promptOf(number),
    sampling: { temperature: 0 },
    ending: { maxTokens: 128, ignoreEos: true },
  })

const tasks: Task[] = [
  { name: 'an answer that repeats itself', generation: repeated },
  { name: 'the same with changes, foretold', generation: repeated, isForetold: true },
  ...(['none', 'bounded'] as const).map((whitespace): Task => {
    const { grammar } = compiler.compile({ kind: 'json', schema }, { whitespace }, 'x')
    return {
      name: `a schema that leaves little choice, ${whitespace === 'none' ? 'no white space' : 'any usual white space'}`,
      generation: (number) =>
        generationOf({
          prompt: promptOf(number),
          sampling: { temperature: 0 },
          constraint: { grammar, field: 'response_format' },
          ending: { maxTokens: 256 },
        }),
    }
  }),
  {
    name: 'an answer as any',
    generation: (number) =>
      generationOf({
        prompt: promptOf(number),
        sampling: { temperature: 1, seed: BigInt(number) },
        ending: { maxTokens: 64, ignoreEos: true },
      }),
  },
]

interface Cell {
  perSecond: number
  work: number
}

async function cellOf(backend: EmbeddedBackend, task: Task, streams: number, round: number): Promise<Cell> {
  const generations = Array.from({ length: streams }, (_, stream) => ({
    ...task.generation(round * 8 + stream),
    salt: `${round} ${task.name} ${stream}`,
  }))
  if (task.isForetold) await foretell(backend, generations)
  const pid = backend.pid() ?? Number.NaN
  const before = workOf(pid)?.all ?? Number.NaN
  const since = performance.now()
  let first = 0
  const all = await Promise.all(
    generations.map(async (generation) => {
      const events = await eventsOf(backend, generation, () => {
        first ||= performance.now()
      })
      return events.flatMap((event) => (event.kind === 'tokens' ? event.tokens : []))
    }),
  )
  const ms = performance.now() - (first || since)
  const tokens = all.flat().length
  const work = (workOf(pid)?.all ?? Number.NaN) - before
  return { perSecond: (1000 * tokens) / ms, work: work / tokens }
}

async function eventsOf(backend: EmbeddedBackend, generation: Generation, heard = () => {}) {
  const run = await backend.generate(generation, new AbortController().signal)
  const events: GenerationEvent[] = []
  for await (const group of run.events) {
    heard()
    events.push(...group)
  }
  return events
}

async function foretell(backend: EmbeddedBackend, generations: Generation[]): Promise<void> {
  for (const generation of generations) {
    const events = await eventsOf(backend, generation)
    const text = events.map((event) => (event.kind === 'tokens' ? event.text : '')).join('')
    const words = text.split(' ').map((word, at) => (at % 32 === 31 ? 'changed' : word))
    generation.prediction = words.join(' ')
    generation.salt += ' foretold'
  }
}

async function measure(file: string, report: Report): Promise<void> {
  const backends: EmbeddedBackend[] = []
  for (const speculation of [false, true]) {
    const { plan } = await prepareModel(file, {
      ...{
        model: file,
        model_name: [],
        context: 2048,
        parallel: Math.max(4, ...streamCounts),
        threads: Number(options.threads),
        gpu: 'off',
      },
      ...{ gpu_layers: 'auto', batch: 0, memory_check: true, queue: 8, priority: false, speculation },
    })
    backends.push(createEmbeddedBackend(plan, quiet))
  }
  const rows: string[][] = []
  try {
    for (const backend of backends) {
      while (backend.status().state === 'starting') await new Promise((resolve) => setTimeout(resolve, 10))
    }
    for (const task of tasks) {
      if (options.only !== undefined && !task.name.includes(options.only)) continue
      for (const streams of streamCounts) {
        const cells: [Cell, Cell][] = []
        for (let round = 0; round <= Number(options.rounds); round++) {
          const order = round % 2 === 0 ? [0, 1] : [1, 0]
          const two: Cell[] = []
          for (const which of order) {
            const backend = backends[which] as EmbeddedBackend
            two[which] = await cellOf(backend, task, streams, round)
          }
          const [off, on] = two as [Cell, Cell]
          // The first one warms up both.
          if (round > 0) cells.push([off, on])
        }
        const spread = (values: number[]) => shownSpread(spreadOf(values))
        rows.push([
          task.name,
          String(streams),
          spread(cells.map(([off]) => off.perSecond)),
          spread(cells.map(([, on]) => on.perSecond)),
          spread(cells.map(([off, on]) => on.perSecond / off.perSecond)),
          spread(cells.map(([off, on]) => off.work / on.work)),
        ])
      }
    }
  } finally {
    await Promise.all(backends.map((backend) => backend.close()))
  }
  report.say(`### Guessing ahead, ${options.model ?? 'a random model of 135 million parameters'}`)
  report.say(
    table(['answers', 'streams', 'tokens/s without', 'with', 'times as fast', 'less processor time'], rows),
  )
}

const report = new Report('speculation')
const { date, commit, node, system, cpu, cores, load } = machineFacts(folder)
report.say(
  `${date}, commit ${commit}, Node ${node} on ${system}; ${cpu}, ${cores} cores; load ${load.toFixed(1)}.`,
)
const file = options.model ?? join(folder, 'random-135m.gguf')
if (options.model === undefined) await writeRandomModel(file, benchmarkShape)
await measure(file, report)
if (options.markdown) report.write(options.markdown)
