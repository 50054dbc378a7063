// How fast answers are generated: this server over HTTP, compared with the package that it is built on and with
// llama-server. See docs/benchmarks/answers.md.

import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { benchmarkShape, writeRandomModel } from '../test/support/random-model.ts'
import { type Aim, aimsTable } from './aims.ts'
import {
  type Answering,
  runOf,
  type Served,
  startHeddle,
  startLlamaServer,
  startPackageAlone,
} from './chat-contestants.ts'
import { measureConversations } from './chat-conversations.ts'
import { measureCosts } from './chat-costs.ts'
import { measureMixed } from './chat-mixed.ts'
import { measurePrefix } from './chat-prefix.ts'
import { type Measured, promptsOf } from './chat-rounds.ts'
import { longPrompt, measureSpeeds } from './chat-speeds.ts'
import { shown } from './figures.ts'
import { loadNow, machineFacts } from './machine.ts'
import { Report, refuseWithoutPlace } from './report.ts'

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    tokens: { type: 'string' },
    temperature: { type: 'string', default: '0' },
    model: { type: 'string' },
    speeds: { type: 'boolean', default: false },
    'llama-server': { type: 'string' },
    markdown: { type: 'string' },
  },
})
/**
 * The built-in model is so fast that a shorter answer would end before it can be measured, and the first rounds run code
 * that V8 has not compiled yet.
 */
const plan = options.quick
  ? {
      random: { rounds: 1, tokens: 48 },
      large: { rounds: 1, tokens: 16 },
      builtin: { rounds: 8, tokens: 128 },
      minutes: 4,
    }
  : {
      random: { rounds: 3, tokens: 64 },
      large: { rounds: 3, tokens: 32 },
      builtin: { rounds: 9, tokens: 256 },
      minutes: 8,
    }
for (const length of [plan.random, plan.large, plan.builtin]) {
  length.rounds = positive('rounds', length.rounds)
  length.tokens = positive('tokens', length.tokens)
}
if (options.model !== undefined && !['random', 'large', 'builtin'].includes(options.model))
  throw new Error(`--model ${options.model}: random, large or builtin; all by default`)
const temperature = Number(options.temperature)
if (!(temperature >= 0 && temperature <= 2))
  throw new Error(`--temperature ${options.temperature}: a number from 0 to 2`)
if (options.markdown) refuseWithoutPlace(options.markdown, 'chat')

/** The shape of TinyLlama: 1.1 billion parameters, 1.2 GB. */
const largeShape = {
  ...benchmarkShape,
  layers: 22,
  hidden: 2048,
  heads: 32,
  kvHeads: 4,
  ffn: 5632,
  vocabulary: 32_000,
}

/** Eight running answers, and one prompt that is being computed. Twice as many requests wait for a sequence. */
const parallel = 16

const longest = (options.quick ? 10 : 30) * 60_000
setTimeout(() => {
  console.error('chat: took too long, stopped')
  process.exit(1)
}, longest).unref()

/** If two threads share fewer than two cores, an answer takes thirty times as long; then one round of each has to do. */
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
  const large = join(folder, 'random-1b.gguf')
  const models: Measured[] = [
    { name: 'random', title: 'the random model', source: random, ...plan.random, temperature, isToRun },
    { name: 'large', title: 'the large random model', source: large, ...plan.large, temperature, isToRun },
    {
      name: 'builtin',
      title: 'the built-in model',
      source: 'builtin',
      ...plan.builtin,
      temperature,
      isToRun,
    },
  ]
  const aims: Aim[] = []
  for (const model of models) {
    if (options.model !== undefined && options.model !== model.name) continue
    if (model.source === random) await writeRandomModel(random, benchmarkShape)
    if (model.source === large) await writeRandomModel(large, largeShape)
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

async function measureModel(model: Measured, report: Report): Promise<Aim[]> {
  const { name, title, source, rounds, tokens } = model
  const run = await runOf(source, parallel)
  report.say(`### Answers of ${title}`)
  report.say(
    `${run.threads} thread${run.threads === 1 ? '' : 's'}, ${run.parallel} sequences of ${run.context} tokens; ${rounds} rounds, ${tokens} tokens an answer, temperature ${temperature}.`,
  )
  const started: Answering[] = []
  try {
    const heddle = await startHeddle(run, join(folder, name))
    started.push(heddle)
    const command = options['llama-server']
    const rivals: Served[] = command === undefined ? [] : [await startLlamaServer(command, run)]
    started.push(...rivals)
    const alone = options.speeds && rivals.length > 0 ? [] : [await startPackageAlone(run)]
    started.push(...alone)
    const all = [heddle, ...alone, ...rivals]
    for (const { ask } of all) await ask({ prompts: promptsOf(2, longPrompt), tokens: 16 })
    const aims = await measureSpeeds(model, all, report)
    if (options.speeds) return aims
    if (name === 'random') aims.push(...(await measureMixed(model, [heddle, ...rivals], run, report)))
    aims.push(...(await measureConversations(model, [heddle, ...rivals], run, report)))
    aims.push(...(await measurePrefix(model, all, run, report)))
    return [...aims, ...(await measureCosts(model, heddle, report))]
  } finally {
    await Promise.all(started.map(({ stop }) => stop()))
  }
}
