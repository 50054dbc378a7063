// What a conversation that comes back waits for its first token, when more people talk than there are sequences. See docs/benchmarks/answers.md.

import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { benchmarkShape, writeRandomModel } from '../test/support/random-model.ts'
import { type Answering, runOf, startHeddle, startLlamaServer } from './chat-contestants.ts'
import { shown, table } from './figures.ts'
import { loadNow, machineFacts } from './machine.ts'
import { Report, refuseWithoutPlace } from './report.ts'

const { values: options } = parseArgs({
  options: {
    users: { type: 'string', default: '32' },
    turns: { type: 'string', default: '6' },
    first: { type: 'string', default: '600' },
    adds: { type: 'string', default: '80' },
    tokens: { type: 'string', default: '16' },
    model: { type: 'string', default: 'random' },
    threads: { type: 'string' },
    'llama-server': { type: 'string' },
    markdown: { type: 'string' },
  },
})
if (options.markdown) refuseWithoutPlace(options.markdown, 'conversations')

const users = whole('users')
const turns = whole('turns')
/** Tokens of the first question, of each later one, and of an answer. */
const first = whole('first')
const adds = whole('adds')
const tokens = whole('tokens')

const folder = await mkdtemp(join(tmpdir(), 'heddle-benchmark-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
await measure()

function whole(name: 'users' | 'turns' | 'first' | 'adds' | 'tokens'): number {
  const given = Number(options[name])
  if (Number.isInteger(given) && given >= 1 && given <= 10_000) return given
  throw new Error(`--${name} ${options[name]}: a whole number from 1 to 10000`)
}

interface Contestant {
  name: string
  start(): Promise<Answering>
  /** Whose conversation it is, where the contestant is to know. */
  fields?(user: number, turn: number): Record<string, unknown>
}

async function measure(): Promise<void> {
  const report = new Report('conversations')
  const machine = machineFacts(folder)
  report.say(
    `${machine.date}, commit ${machine.commit}, Node ${machine.node} on ${machine.system}; ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB; load before the run ${shown(machine.load)}.`,
  )
  let source = options.model
  if (source === 'random') {
    source = join(folder, 'random-135m.gguf')
    await writeRandomModel(source, benchmarkShape)
  }
  const chosen = await runOf(source)
  const run = { ...chosen, threads: Number(options.threads ?? chosen.threads) }
  const threads = { HEDDLE_THREADS: String(run.threads) }
  const own = (user: number) => ({ cache_salt: `user ${user}` })
  const contestants: Contestant[] = [
    { name: 'Heddle', start: () => startHeddle(run, join(folder, 'kept'), threads), fields: own },
    {
      name: 'Heddle, HEDDLE_PROMPT_CACHE=off',
      start: () => startHeddle(run, join(folder, 'off'), { ...threads, HEDDLE_PROMPT_CACHE: 'off' }),
      fields: own,
    },
    {
      name: 'Heddle, each prompt read anew',
      start: () => startHeddle(run, join(folder, 'anew'), threads),
      fields: (user, turn) => ({ cache_salt: `user ${user} turn ${turn}` }),
    },
  ]
  const path = options['llama-server']
  if (path === undefined) report.say('llama-server was not run: no path to one was given.')
  else contestants.push({ name: 'llama-server', start: () => startLlamaServer(path, run) })
  const medians = new Map<string, number[]>()
  for (const one of contestants) medians.set(one.name, await firstTokens(one))
  const anew = medians.get('Heddle, each prompt read anew') ?? []
  const rows = Array.from(medians, ([name, ms]) => {
    const later = ms.slice(1)
    const share = later.reduce((sum, one, index) => sum + one / (anew[index + 1] ?? Number.NaN), 0)
    return [name, ...ms.map(shown), shown(share / later.length)]
  })
  report.say(
    `### ${users} conversations over ${run.parallel} sequences of ${run.context} tokens, one after the other, ${turns} turns: ${first} tokens, then ${adds} more each, answers of ${tokens}. Milliseconds to the first token, median`,
  )
  report.say(
    table(
      ['', ...Array.from({ length: turns }, (_, turn) => `turn ${turn + 1}`), 'of reading anew, from turn 2'],
      rows,
    ),
  )
  report.say(`Aim: at most 0.15. The load after the run was ${shown(loadNow())}.`)
  if (options.markdown) report.write(options.markdown)
}

/** Median milliseconds to the first token, for each turn. */
async function firstTokens({ start, fields }: Contestant): Promise<number[]> {
  const answering = await start()
  try {
    const medians: number[] = []
    for (let turn = 0; turn < turns; turn++) {
      const ms: number[] = []
      for (let user = 0; user < users; user++) {
        const prompts = [promptOf(user, turn)]
        const { first: firsts } = await answering.ask({ prompts, tokens, fields: fields?.(user, turn) ?? {} })
        ms.push(...firsts)
      }
      medians.push(ms.toSorted((one, other) => one - other)[ms.length >> 1] ?? Number.NaN)
    }
    return medians
  } finally {
    await answering.stop()
  }
}

/** What was said so far. The answers in it are made up, the same for all contestants, as if each had been edited. */
function promptOf(user: number, turn: number): number[] {
  return Array.from(
    { length: first + turn * adds },
    (_, at) => 300 + ((at * 7919 + user * 104_729 + at * user) % 40_000),
  )
}
