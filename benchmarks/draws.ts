import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Constraint, createConstraints } from '../packages/constraints/index.ts'
import { loadInProcess, type Sampling } from '../packages/engine/index.ts'
import { createConstraintCompiler } from '../src/inference/constraints/compile.ts'
import { generationOf } from '../test/support/generations.ts'
import { benchmarkShape, writeRandomModel } from '../test/support/random-model.ts'
import { constraints, samplings, turns } from './constraints.ts'

const { createChoice, loadModel, planAnswer } = await loadInProcess()

/**
 * What drawing a token costs, with a constraint and without one, in processor time, which hardly depends on other load on
 * the machine. Run with UV_THREADPOOL_SIZE=1. --only takes names of rows, --model a file; without it a random model with
 * 50 k tokens is used.
 */
const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    answers: { type: 'string', default: '4' },
    tokens: { type: 'string', default: '80' },
    only: { type: 'string' },
  },
})
const folder = await mkdtemp(join(tmpdir(), 'heddle-benchmark-'))
const file = values.model ?? join(folder, 'random.gguf')
if (values.model === undefined) await writeRandomModel(file, { ...benchmarkShape, layers: 1 })
const model = await loadModel(file, () => {})
const context = await model.openContext({ context: 512, sequences: 4, batch: 64, threads: 1 })
const prompt = model.tokenize('Describe a person.', { special: true, add: false })
const held = createConstraints(model.vocabulary)
const compiler = createConstraintCompiler()

/** Microseconds of each draw of one answer. */
async function draws(sampling: Partial<Sampling>, seed: number, constraint?: Constraint): Promise<number[]> {
  const maxTokens = Number(values.tokens)
  const generation = generationOf({
    sampling: { ...sampling, seed: BigInt(seed) },
    ending: { ignoreEos: constraint === undefined },
  })
  const choice = createChoice(
    planAnswer({ generation, prompt, maxTokens, vocabulary: model.vocabulary, constraint }),
    0,
  )
  const spent: number[] = []
  context.forget(0, 0)
  for (let next = prompt, at = 0; ; ) {
    context.begin(next.length)
    const [place = Number.NaN] = context.add(0, at, Uint32Array.from(next), Uint32Array.of(next.length - 1))
    at += next.length
    await context.decode()
    const before = process.cpuUsage()
    const drawn = await choice.next(context.logits(place))
    const { finished } = choice.accept(drawn)
    const { user, system } = process.cpuUsage(before)
    spent.push(user + system)
    if (finished !== undefined) return spent
    next = [drawn.token]
  }
}

function described(all: readonly number[]): string {
  const sorted = all.toSorted((a, b) => a - b)
  const mean = all.reduce((sum, one) => sum + one, 0) / all.length
  return `${mean.toFixed(0)} (${sorted[all.length >> 1]}, ${sorted[Math.floor(0.9 * all.length)]})`
}

const only = values.only?.split(',')
const rows = [['free', undefined] as const, ...Object.entries({ ...constraints, ...turns })]
  .filter(([name]) => only === undefined || only.includes(name))
  .map(([name, constraint]) => ({
    name,
    of: constraint && held.of(compiler.compile(constraint, { whitespace: 'bounded' }, 'constraint').grammar),
    spent: Object.values(samplings).map((): number[] => []),
  }))
// The rows take turns, so that other load on the machine affects all alike. The first answers fill the caches of the
// grammars and warm up the code.
for (let answer = 0; answer <= Number(values.answers); answer++) {
  for (const [at, sampling] of Object.values(samplings).entries()) {
    for (const { of, spent } of rows) {
      const all = await draws(sampling, answer, of)
      if (answer > 0) spent[at]?.push(...all)
    }
  }
}
console.log(`| microseconds of a draw: mean (median, 90 %) | ${Object.keys(samplings).join(' | ')} |`)
console.log(`| --- ${'| --- '.repeat(Object.keys(samplings).length)}|`)
for (const { name, spent } of rows) console.log(`| ${name} | ${spent.map(described).join(' | ')} |`)
await context.close()
await rm(folder, { recursive: true })
process.exit(0)
