import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type CompiledGrammar, sizeOfGrammar } from '../packages/constraints/index.ts'
import { createEmbeddedBackend, type Generation } from '../packages/engine/index.ts'
import { createConstraintCompiler } from '../src/inference/constraints/compile.ts'
import { generationOf } from '../test/support/generations.ts'
import { plainPlan } from '../test/support/model-plan.ts'
import { benchmarkShape, writeRandomModel } from '../test/support/random-model.ts'
import { constraints, samplings, turns } from './constraints.ts'
import { childrenOf, loadNow, workOf } from './machine.ts'

/**
 * Tokens per second with and without a constraint, on a random model with many tokens (so that nearly everything that it
 * predicts is not allowed) or on a given one. Also reports the engine's processor time per token, which is more reliable
 * on a busy machine, with `--threads 1`, because threads that wait for one another spin.
 */
const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    threads: { type: 'string', default: '2' },
    passes: { type: 'string', default: '5' },
    answers: { type: 'string', default: '2' },
    tokens: { type: 'string', default: '80' },
    only: { type: 'string', default: '' },
    prompt: { type: 'string', default: 'Describe a person.' },
  },
})
const folder = await mkdtemp(join(tmpdir(), 'heddle-benchmark-'))
const file = values.model ?? join(folder, 'random-135m.gguf')
if (values.model === undefined) await writeRandomModel(file, benchmarkShape)

const quiet = { debug() {}, info() {}, warn() {}, error: console.error }
const backend = createEmbeddedBackend(
  plainPlan(file, { context: 2048, threads: Number(values.threads), batch: 512, queue: 8 }),
  quiet,
)
while (backend.status().state === 'starting') await new Promise((resolve) => setTimeout(resolve, 10))

/** Microseconds of processor time of the engine so far. */
const workNow = () => childrenOf(process.pid).reduce((sum, pid) => sum + (workOf(pid)?.all ?? Number.NaN), 0)

/** The duration of an answer in milliseconds, the engine's processor time for it, and its tokens. */
async function answer(
  sampling: Partial<Generation['sampling']>,
  { seed, maxTokens, grammar }: { seed: number; maxTokens: number; grammar?: CompiledGrammar },
): Promise<{ ms: number; work: number; tokens: number }> {
  const generation = generationOf({
    prompt: { text: values.prompt, special: true, add: false },
    sampling: { seed: BigInt(seed), ...sampling },
    ending: { maxTokens, ignoreEos: grammar === undefined },
    text: { skipSpecial: true, spaceSpecial: false },
    ...(grammar !== undefined && { constraint: { grammar, field: 'structured_outputs' } }),
  })
  const workBefore = workNow()
  const since = performance.now()
  const { events } = await backend.generate(generation, new AbortController().signal)
  let tokens = 0
  for await (const group of events) {
    for (const event of group) if (event.kind === 'tokens') tokens += event.tokens.length
  }
  return { ms: performance.now() - since, work: workNow() - workBefore, tokens }
}

interface Pair {
  free: number
  constrained: number
  /** The engine's processor time for an unconstrained answer, as a share of that for a constrained one. */
  ofWork: number
}

/** Tokens per second of constrained answers, and of unconstrained ones with as many tokens. */
async function pair(
  sampling: Partial<Generation['sampling']>,
  grammar: CompiledGrammar,
  seed: number,
): Promise<Pair> {
  let tokens = 0
  const ms = { free: 0, constrained: 0 }
  const work = { free: 0, constrained: 0 }
  for (let number = 0; number < Number(values.answers); number++) {
    const held = await answer(sampling, { seed: seed + number, maxTokens: Number(values.tokens), grammar })
    const free = await answer(sampling, { seed: seed + number, maxTokens: held.tokens })
    if (free.tokens !== held.tokens)
      throw new Error(`${held.tokens} tokens, and ${free.tokens} without a constraint`)
    tokens += held.tokens
    ms.free += free.ms
    ms.constrained += held.ms
    work.free += free.work
    work.constrained += held.work
  }
  return {
    free: (1000 * tokens) / ms.free,
    constrained: (1000 * tokens) / ms.constrained,
    ofWork: work.free / work.constrained,
  }
}

const median = (all: number[]) => all.toSorted((a, b) => a - b)[all.length >> 1] ?? Number.NaN

const compiler = createConstraintCompiler()
const grammars = Object.entries({ ...constraints, ...turns }).map(([name, constraint]) => {
  const since = performance.now()
  const grammar = compiler.compile(constraint, { whitespace: 'bounded' }, 'x').grammar
  console.log(
    `${name}: compiled in ${(performance.now() - since).toFixed(1)} ms, ${sizeOfGrammar(grammar)} bytes`,
  )
  return [name, grammar] as const
})
console.log(`load before: ${loadNow()}\n`)
const row = (cells: string[]) => console.log(`| ${cells.join(' | ')} |`)
row([
  'drawn with',
  'constraint',
  'free tokens/s',
  'constrained tokens/s',
  'of free (range)',
  'by work (range)',
])
row(Array(6).fill('---'))
for (const [how, sampling] of Object.entries(samplings)) {
  for (const [name, grammar] of grammars) {
    if (!`${how}, ${name}`.includes(values.only)) continue
    const found: Pair[] = []
    // The first pass fills the caches of the grammar, as the first answer of a server does, and is not counted.
    for (let pass = 0; pass <= Number(values.passes); pass++) {
      // Both kinds take turns, so that other load on the machine affects both alike.
      const both = await pair(sampling, grammar, 100 * pass)
      if (pass > 0) found.push(both)
    }
    const described = (ratios: number[]) =>
      `${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)})`
    row([
      how,
      name,
      median(found.map(({ free }) => free)).toPrecision(3),
      median(found.map(({ constrained }) => constrained)).toPrecision(3),
      described(found.map(({ free, constrained }) => constrained / free)),
      described(found.map(({ ofWork }) => ofWork)),
    ])
  }
}
console.log(`\nload after: ${loadNow()}`)
await backend.close()
await rm(folder, { recursive: true })
