// How long a returning conversation waits for its first token when there are more conversations than sequences. See
// docs/benchmarks/conversations.md.

import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { benchmarkShape, writeRandomModel } from '../test/support/random-model.ts'
import { type Answering, runOf, startHeddle, startLlamaServer } from './chat-contestants.ts'
import { promptOf } from './conversation-turns.ts'
import { shown, table } from './figures.ts'
import { childrenOf, loadNow, machineFacts, workOf } from './machine.ts'
import { Report, refuseWithoutPlace } from './report.ts'

const { values: options } = parseArgs({
  options: {
    users: { type: 'string', default: '6' },
    sequences: { type: 'string', default: '4' },
    turns: { type: 'string', default: '3' },
    first: { type: 'string', default: '256' },
    adds: { type: 'string', default: '32' },
    tokens: { type: 'string', default: '2' },
    model: { type: 'string', default: 'random' },
    threads: { type: 'string' },
    'llama-server': { type: 'string' },
    markdown: { type: 'string' },
  },
})
if (options.markdown) refuseWithoutPlace(options.markdown, 'conversations')

const users = whole('users')
const parallel = whole('sequences')
const turns = whole('turns')
/** Tokens of the first question, of each later one, and of an answer. */
const first = whole('first')
const adds = whole('adds')
const tokens = whole('tokens')

const anewName = 'Heddle, each prompt read anew'

const median = (values: readonly number[]) =>
  values.toSorted((one, other) => one - other)[values.length >> 1] ?? Number.NaN

const folder = await mkdtemp(join(tmpdir(), 'heddle-benchmark-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
await measure()

function whole(name: 'users' | 'sequences' | 'turns' | 'first' | 'adds' | 'tokens'): number {
  const given = Number(options[name])
  if (Number.isInteger(given) && given >= 1 && given <= 10_000) return given
  throw new Error(`--${name} ${options[name]}: a whole number from 1 to 10000`)
}

interface Contestant {
  name: string
  start(): Promise<Answering & { pid?: number }>
  /** The fields that identify the conversation, for contestants that use them. */
  fields?(user: number, turn: number): Record<string, unknown>
}

/** One turn: milliseconds to the first tokens, and of processor time for each question with its answer. */
interface Turn {
  firsts: number[]
  work: number[]
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
  const context = Math.min(chosen.context, Math.ceil((first + turns * (adds + tokens)) / 1024) * 1024)
  const run = { ...chosen, context, parallel, threads: Number(options.threads ?? chosen.threads) }
  const threads = { HEDDLE_THREADS: String(run.threads) }
  const off = { ...threads, HEDDLE_PROMPT_CACHE: 'off' }
  const own = (user: number) => ({ cache_salt: `user ${user}` })
  const contestants: Contestant[] = [
    {
      name: 'Heddle',
      start: () => startHeddle(run, join(folder, 'kept'), { ...threads, HEDDLE_PROMPT_CACHE: '2GiB' }),
      fields: own,
    },
    {
      name: 'Heddle, on disk alone',
      start: () => startHeddle(run, join(folder, 'disk'), { ...off, HEDDLE_PROMPT_CACHE_DISK: '2GiB' }),
      fields: own,
    },
    {
      name: 'Heddle, HEDDLE_PROMPT_CACHE=off',
      start: () => startHeddle(run, join(folder, 'off'), off),
      fields: own,
    },
    {
      name: anewName,
      start: () => startHeddle(run, join(folder, 'anew'), off),
      fields: (user, turn) => ({ cache_salt: `user ${user} turn ${turn}` }),
    },
  ]
  const path = options['llama-server']
  if (path === undefined) report.say('llama-server was not run: no path to one was given.')
  else contestants.push({ name: 'llama-server', start: () => startLlamaServer(path, run) })
  const results = await ask(contestants)
  const columns = Array.from({ length: turns }, (_, turn) => `turn ${turn + 1}`)
  report.say(
    `### ${users} conversations over ${run.parallel} sequences of ${run.context} tokens, one after the other, ${turns} turns: ${first} tokens, then ${adds} more each, answers of ${tokens}`,
  )
  for (const [title, of] of [
    ['Milliseconds to the first token, median', ({ firsts }: Turn) => firsts],
    ['Milliseconds of processor time for a question and its answer, median', ({ work }: Turn) => work],
  ] as const) {
    const medians = contestants.map(({ name }) => (results.get(name) ?? []).map((turn) => median(of(turn))))
    const anew = medians[contestants.findIndex(({ name }) => name === anewName)] ?? []
    const rows = contestants.map(({ name }, index) => {
      const own = medians[index] ?? []
      const shares = own.slice(1).map((one, turn) => one / (anew[turn + 1] ?? Number.NaN))
      return [name, ...own.map(shown), shown(shares.reduce((sum, one) => sum + one, 0) / shares.length)]
    })
    report.say(`${title}:`)
    report.say(table(['', ...columns, 'of reading anew, from turn 2'], rows))
  }
  report.say(`Aim: at most 0.15. The load after the run was ${shown(loadNow())}.`)
  if (options.markdown) report.write(options.markdown)
}

/** Each question goes to all contestants in turn, so that other load on the machine affects all of them alike. */
async function ask(contestants: readonly Contestant[]): Promise<Map<string, Turn[]>> {
  const results = new Map(contestants.map(({ name }) => [name, [] as Turn[]]))
  const started: { one: Contestant; answering: Awaited<ReturnType<Contestant['start']>> }[] = []
  try {
    for (const one of contestants) started.push({ one, answering: await one.start() })
    for (let turn = 0; turn < turns; turn++) {
      for (const { name } of contestants) results.get(name)?.push({ firsts: [], work: [] })
      for (let user = 0; user < users; user++) {
        const prompts = [promptOf({ first, adds }, user, turn)]
        for (const { one, answering } of started) {
          const before = workOfAll(answering.pid)
          const fields = one.fields?.(user, turn) ?? {}
          const { first: firsts } = await answering.ask({ prompts, tokens, fields })
          const of = results.get(one.name)?.[turn]
          of?.firsts.push(...firsts)
          of?.work.push(workOfAll(answering.pid) - before)
        }
      }
    }
    return results
  } finally {
    await Promise.all(started.map(({ answering }) => answering.stop()))
  }
}

/** Milliseconds of processor time of a server and its engine; NaN if the system does not report it. */
function workOfAll(pid: number | undefined): number {
  if (pid === undefined) return Number.NaN
  return [pid, ...childrenOf(pid)].reduce((sum, one) => sum + (workOf(one)?.all ?? Number.NaN), 0) / 1000
}
