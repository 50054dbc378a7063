// What callers notice of an evaluation run that the server carries out behind them: the time of their answers alone and
// beside a run of 1,000 rows, two settings and two judges, in turns. See docs/benchmarks/recording.md.

import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runOf, startHeddle } from './chat-contestants.ts'
import { quantile, shown, shownSpread, sorted, spreadOf, table } from './figures.ts'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '20' },
    model: { type: 'string', default: 'builtin' },
  },
})
const rounds = Number(options.rounds)
const seconds = Number(options.seconds)
const project = 'main/evaluated'

const folder = await mkdtemp(join(tmpdir(), 'heddle-benchmark-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
const { address, headers, stop } = await startHeddle(await runOf(options.model), folder)

async function send<Answer>(url: string, body: object): Promise<Answer> {
  const answer = await fetch(`${address}${url}`, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${(await answer.text()).slice(0, 500)}`)
  return (await answer.json()) as Answer
}

async function scorersOfRun(): Promise<{ scorer: string }[]> {
  const schema = { type: 'object', properties: { good: { type: 'boolean' } }, required: ['good'] }
  const questions = [{ type: 'predicate', name: 'rude', instructions: 'Is it rude?' }]
  const judges = { quality: { prompt: '{output}', schema }, manners: { prompt: '{output}', questions } }
  return Promise.all(
    Object.entries(judges).map(([name, judge]) =>
      send<{ scorer: string }>(`/v2/${project}/scorers`, { name, judge }).then(({ scorer }) => ({ scorer })),
    ),
  )
}

async function startRun(name: string, scorers: object[]): Promise<string[]> {
  const request = { max_completion_tokens: 16 }
  const { evaluation_run_ids } = await send<{ evaluation_run_ids: string[] }>(
    `/v2/${project}/evaluation_runs/serve`,
    {
      ...{ name, dataset: `weave:///${project}/object/numbers:latest`, prompt: '{question}', scorers },
      settings: ['a', 'b'].map((of) => ({ name: of, system: `Setting ${of}.`, request })),
    },
  )
  return evaluation_run_ids
}

let asked = 0
/** The times of answers that one caller waits for, one after the other, in milliseconds. */
async function timesOfCaller(): Promise<number[]> {
  const times: number[] = []
  for (const since = performance.now(); performance.now() - since < seconds * 1000; ) {
    const began = performance.now()
    const messages = [{ role: 'user', content: `What is ${asked++}?` }]
    await send('/v1/chat/completions', { messages, max_tokens: 16 })
    times.push(performance.now() - began)
  }
  return sorted(times)
}

const growth: Record<'p50' | 'p99', number[]> = { p50: [], p99: [] }
const alone: number[] = []
try {
  const rows = Array.from({ length: 1_000 }, (_, n) => ({ question: `What is ${n}?` }))
  await send(`/v2/${project}/datasets`, { name: 'numbers', rows })
  const scorers = await scorersOfRun()
  await timesOfCaller()
  for (let round = 0; round < rounds; round++) {
    const before = await timesOfCaller()
    const runs = await startRun(`round-${round}`, scorers)
    const beside = await timesOfCaller()
    for (const run of runs) await send(`/v2/${project}/evaluation_runs/${run}/stop`, {})
    growth.p50.push(quantile(beside, 0.5) / quantile(before, 0.5))
    growth.p99.push(quantile(beside, 0.99) / quantile(before, 0.99))
    alone.push(quantile(before, 0.99))
  }
  console.log(
    table(
      ['', 'beside a run, of alone'],
      Object.entries(growth).map(([name, each]) => [name, shownSpread(spreadOf(each))]),
    ),
  )
  console.log(`p99 alone: ${shown(spreadOf(alone).median)} ms; ${asked} answers. Aim for p99: 1.3`)
} finally {
  await stop()
}
