// What typed decisions cost: 20 questions on one input against one question, and one question on a new input against its
// prompt alone; and how much the order of options matters. See docs/typed-decisions.md.

import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createEmbeddedBackend, prepareModel } from '../packages/engine/index.ts'
import type { DecisionQuestion } from '../src/inference/decisions/decision.ts'
import { decisionSystem } from '../src/inference/decisions/wording.ts'
import { localModels } from '../src/inference/local-model.ts'
import type { Model } from '../src/inference/model.ts'
import { generationOf } from '../test/support/generations.ts'
import { benchmarkShape, writeRandomModel } from '../test/support/random-model.ts'
import { spreadOf, table } from './figures.ts'

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '9' }, model: { type: 'string' }, only: { type: 'string' } },
})
const rounds = Number(options.rounds)
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const folder = await mkdtemp(join(tmpdir(), 'heddle-benchmark-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
const { signal } = new AbortController()

const predicate = (index: number): DecisionQuestion => ({
  kind: 'predicate',
  field: `questions.${index}`,
  text: `Is it about ${['rain', 'Paris', 'trains', 'money', 'law'][index % 5]} ${index}?`,
  options: [{ name: 'yes' }, { name: 'no' }],
})

async function measure(file: string, name: string): Promise<string[]> {
  const { plan } = await prepareModel(file, {
    ...{ model: file, model_name: [], context: 2_048, parallel: 8, threads: 0, gpu: 'off' },
    ...{ gpu_layers: 'auto', batch: 0, memory_check: true, queue: 8, priority: false, speculation: true },
  })
  const engine = createEmbeddedBackend(plan, quiet)
  const models = localModels(engine)
  const model = models.all[0] as Model
  while (engine.status().state === 'starting') await new Promise((resolve) => setTimeout(resolve, 50))
  const text = await inputOf(model)

  const decide = (input: string, questions: DecisionQuestion[], orders = 1) =>
    model.decide(
      { instructions: [], input, questions, orders, tenant: '', priority: 0, body: {} },
      () => {},
      signal,
    )

  async function prompt(input: string): Promise<void> {
    const messages = [
      { role: 'system', content: decisionSystem },
      { role: 'user', content: `${input}\n---\n${predicate(0).text}` },
    ]
    const conversation = { messages, addGenerationPrompt: true, continueFinal: false }
    const tokens = await model.tokenize({ conversation, addSpecial: false }, '', signal)
    const run = await engine.generate(
      generationOf({ prompt: { tokens }, ending: { maxTokens: 1 }, sampling: { temperature: 0 } }),
      signal,
    )
    for await (const _ of run.events);
  }

  const twenty = Array.from({ length: 20 }, (_, index) => predicate(index))
  const ways = {
    prompt,
    one: (input: string) => decide(input, [predicate(0)]),
    twenty: (input: string) => decide(input, twenty),
  }
  const times: Record<keyof typeof ways, number[]> = { prompt: [], one: [], twenty: [] }
  for (let round = -1; round < rounds; round++) {
    for (const way of ['prompt', 'one', 'twenty'] as const) {
      const since = performance.now()
      // A new input each time: nothing of it is cached.
      await ways[way](`${round} ${way} ${text}`)
      if (round >= 0) times[way].push(performance.now() - since)
    }
  }
  const spreads: number[] = []
  for (let index = 0; index < 20; index++) {
    const names = ['rain', 'Paris', 'trains', 'money'].slice(0, 2 + (index % 3))
    const question = {
      ...predicate(index),
      kind: 'choice' as const,
      options: names.map((name) => ({ name })),
    }
    const [answer] = await decide(`${index} ${text.slice(0, 200)}`, [question], 2)
    spreads.push(answer?.spread ?? 0)
  }
  await models.close()
  const ratios = (way: 'one' | 'twenty', of: 'prompt' | 'one') =>
    spreadOf(times[way].map((ms, round) => ms / (times[of][round] as number))).median.toFixed(2)
  return [
    name,
    ...(['prompt', 'one', 'twenty'] as const).map((way) => spreadOf(times[way]).median.toFixed(0)),
    ratios('one', 'prompt'),
    ratios('twenty', 'one'),
    spreadOf(spreads).median.toFixed(2),
  ]
}

/** About 1,000 tokens. */
async function inputOf(model: Model): Promise<string> {
  const sentence = 'The train to Paris leaves at noon, and it may rain. '
  const tokens = await model.tokenize({ text: sentence.repeat(10), addSpecial: false }, '', signal)
  return sentence.repeat(Math.round(10_000 / tokens.length))
}

const random = join(folder, 'random.gguf')
const files: [file: string, name: string][] = options.model
  ? [[options.model, options.model]]
  : [
      [fileURLToPath(new URL('../models/builtin/heddle-tiny.gguf', import.meta.url)), 'the built-in model'],
      [random, '135 million parameters'],
    ]
const rows: string[][] = []
for (const [file, name] of files) {
  if (options.only && !name.includes(options.only)) continue
  if (file === random) await writeRandomModel(file, benchmarkShape)
  rows.push(await measure(file, name))
}
console.log(
  table(
    ['ms, medians', 'prompt', '1 question', '20 questions', '1 / prompt', '20 / 1', 'difference of 2 orders'],
    rows,
  ),
)
