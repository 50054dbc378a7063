import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  createEmbeddedBackend,
  type Generation,
  type GenerationEvent,
  type Run,
} from '../packages/engine/index.ts'
import { generationOf } from '../test/support/generations.ts'
import { plainPlan } from '../test/support/model-plan.ts'
import { benchmarkShape, writeRandomModel } from '../test/support/random-model.ts'
import { shown, shownSpread, spreadOf, table } from './figures.ts'
import { loadNow, workOf } from './machine.ts'
import { startPackage } from './package-child.ts'

/**
 * The speed of the server's engine process with a model of 135 million parameters, compared with the best that the public
 * classes of node-llama-cpp reach in a process of their own: tokens per second with 1 to 8 streams, and how long a second
 * request waits that begins with the same 2,000 tokens.
 */
const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    threads: { type: 'string', default: '2' },
    passes: { type: 'string', default: '2' },
    tokens: { type: 'string', default: '128' },
  },
})
const threads = Number(values.threads)
const answerTokens = Number(values.tokens)
const folder = await mkdtemp(join(tmpdir(), 'heddle-benchmark-'))
const file = values.model ?? join(folder, 'random-135m.gguf')
const streams = [1, 2, 4, 8]
const context = 4096
const prompt = Array.from({ length: 24 }, (_, i) => 300 + 7 * i)
const prefix = Array.from({ length: 2000 }, (_, i) => 300 + ((31 * i) % 20_000))

interface Contestant {
  name: string
  pid: number
  /** The time until the last of this many streams has all its tokens. */
  streams(count: number, salt: number): Promise<number>
  /** The time to the first token, for a prompt that follows the earlier ones. */
  firstToken(tokens: number[]): Promise<number>
  close(): Promise<void>
}

async function ours(): Promise<Contestant> {
  const quiet = { debug() {}, info() {}, warn() {}, error: console.error }
  const plan = plainPlan(file, { names: ['135m'], context, parallel: 8, threads, batch: 512, queue: 8 })
  const backend = createEmbeddedBackend(plan, quiet)
  while (backend.status().state === 'starting') await new Promise((resolve) => setTimeout(resolve, 10))
  const signal = new AbortController().signal
  const start = (tokens: number[], maxTokens: number): Promise<Run> =>
    backend.generate(greedy(tokens, maxTokens), signal)
  return {
    name: 'the engine process',
    pid: backend.pid() ?? 0,
    async streams(count, salt) {
      const since = performance.now()
      const runs = Array.from({ length: count }, async (_, stream) => {
        const { events } = await start([salt + stream, ...prompt], answerTokens)
        for await (const _group of events);
      })
      await Promise.all(runs)
      return performance.now() - since
    },
    async firstToken(tokens) {
      const since = performance.now()
      const { events } = await start(tokens, 1)
      const reader = events[Symbol.asyncIterator]()
      let group: IteratorResult<GenerationEvent[]>
      do group = await reader.next()
      while (group.done !== true && !group.value.some(({ kind }) => kind === 'tokens'))
      const took = performance.now() - since
      while ((await reader.next()).done !== true);
      return took
    },
    close: () => backend.close(),
  }
}

async function thePackage(): Promise<Contestant> {
  const { pid, ask, stop } = await startPackage(file, threads, context)
  return {
    name: 'public classes, with a barrier',
    pid,
    streams: async (count, salt) =>
      (
        await ask({
          prompts: Array.from({ length: count }, (_, i) => [salt + i, ...prompt]),
          tokens: answerTokens,
        })
      ).ms,
    firstToken: async (tokens) => (await ask({ prompts: [tokens], tokens: 1 })).ms,
    close: stop,
  }
}

function greedy(tokens: number[], maxTokens: number): Generation {
  return generationOf({
    prompt: { tokens },
    sampling: { temperature: 0 },
    ending: { maxTokens, ignoreEos: true },
    text: { spaceSpecial: false },
  })
}

if (values.model === undefined) await writeRandomModel(file, benchmarkShape)
const makers = [ours, thePackage]
const speeds = new Map<string, number[][]>()
/** Milliseconds of processor time for each token: meaningful on a busy machine too, as long as no thread spins. */
const works = new Map<string, number[][]>()
const waits = new Map<string, { first: number[]; second: number[] }>()
let salt = 1000
for (let pass = 0; pass < Number(values.passes); pass++) {
  for (const make of makers) {
    const contestant = await make()
    const { name } = contestant
    await contestant.streams(1, salt++)
    const row = speeds.get(name) ?? streams.map(() => [])
    speeds.set(name, row)
    if (!works.has(name))
      works.set(
        name,
        streams.map(() => []),
      )
    for (const [place, count] of streams.entries()) {
      const before = workOf(contestant.pid)?.all ?? Number.NaN
      const ms = await contestant.streams(count, salt)
      const work = ((workOf(contestant.pid)?.all ?? Number.NaN) - before) / 1000
      works.get(name)?.[place]?.push(work / (count * answerTokens))
      salt += 10
      row[place]?.push((count * answerTokens * 1000) / ms)
    }
    const wait = waits.get(name) ?? { first: [], second: [] }
    waits.set(name, wait)
    const own = [salt++, ...prefix]
    wait.first.push(await contestant.firstToken([...own, 1, 2, 3]))
    wait.second.push(await contestant.firstToken([...own, 4, 5, 6]))
    await contestant.close()
  }
}
await rm(folder, { recursive: true })
const spread = (all: number[]) => shownSpread(spreadOf(all))
console.log(`${threads} threads, ${answerTokens} tokens a stream, load ${shown(loadNow())}\n`)
console.log(
  table(
    ['tokens a second, streams:', ...streams.map(String)],
    Array.from(speeds, ([name, row]) => [name, ...row.map(spread)]),
  ),
)
console.log(
  `\n${table(
    ['processor ms a token, streams:', ...streams.map(String)],
    Array.from(works, ([name, row]) => [name, ...row.map(spread)]),
  )}`,
)
console.log(
  `\n${table(
    ['first token after 2,000 tokens, ms', 'new', 'remembered'],
    Array.from(waits, ([name, { first, second }]) => [name, spread(first), spread(second)]),
  )}`,
)
