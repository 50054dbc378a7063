// How many calls a monitor judges in a second, by judges that write JSON and by judges that ask typed questions. The calls
// differ, so that each prompt is new. See docs/judges.md.

import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { completeOf } from '../test/support/calls.ts'
import { runOf, startHeddle } from './chat-contestants.ts'
import { spreadOf, table } from './figures.ts'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    calls: { type: 'string', default: '40' },
    model: { type: 'string', default: 'builtin' },
    /** Sentences in the question and in the answer of each call. */
    length: { type: 'string', default: '5' },
  },
})
const project_id = 'main/judged'
const rounds = Number(options.rounds)
const calls = Number(options.calls)
const length = Number(options.length)

const names = ['correct', 'helpful', 'polite']
const textOf = (name: string) => `Is the answer ${name}?`
const prompt = 'Question: {inputs.question}\nAnswer: {output}'

const writing = (count: number, isReasoned: boolean) => {
  const asked = names.slice(0, count)
  const reason = isReasoned ? { reason: { type: 'string', maxLength: 400 } } : {}
  const properties = { ...reason, ...Object.fromEntries(asked.map((name) => [name, { type: 'boolean' }])) }
  const schema = { type: 'object', properties, required: Object.keys(properties) }
  return { prompt: `${prompt}\n${asked.map(textOf).join('\n')}`, schema }
}
const deciding = (count: number) => ({
  prompt,
  questions: names.slice(0, count).map((name) => ({ type: 'predicate', name, instructions: textOf(name) })),
})

/** `reason` is what the page proposes for a judge: it writes why before it says what. */
const judges: Record<string, object> = {
  'JSON, 1 boolean': writing(1, false),
  'JSON, reason and 1 boolean': writing(1, true),
  '1 question': deciding(1),
  'JSON, 3 booleans': writing(3, false),
  'JSON, reason and 3 booleans': writing(3, true),
  '3 questions': deciding(3),
  '3 questions, then a reason': { ...deciding(3), reason: true },
}

const folder = await mkdtemp(join(tmpdir(), 'heddle-benchmark-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
const { address, headers, stop } = await startHeddle(await runOf(options.model), folder)

async function send<Answer>(method: string, url: string, body: object): Promise<Answer> {
  const answer = await fetch(`${address}${url}`, { method, headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${(await answer.text()).slice(0, 500)}`)
  return (await answer.json()) as Answer
}

interface Measured {
  perSecond: number
  /** Of a call. */
  written: number
}

/** Calls judged a second by a monitor that has nothing else to do. */
async function measure(name: string, judge: object): Promise<Measured> {
  const scorer = await send<{ scorer: string }>('POST', `/v2/${project_id}/scorers`, {
    name: `judge-${Object.keys(judges).indexOf(name)}`,
    judge,
  })
  const fields = { project_id, name, scorers: [{ scorer: scorer.scorer }] }
  const { monitor } = await send<{ monitor: { id: string } }>('POST', '/monitors', fields)
  const own = { project_id, monitor_ids: [monitor.id] }
  // A paused monitor notes nothing: the calls wait while it has no tokens to spend.
  await send('PUT', `/monitors/${monitor.id}`, { project_id, token_budget: 0 })
  const batch = Array.from({ length: calls }, () =>
    completeOf({
      project_id,
      trace_id: randomUUID(),
      inputs: { question: `What is ${randomUUID()}? ${'Think of it again. '.repeat(length)}` },
      output: 'It is a number. '.repeat(length),
    }),
  )
  await send('POST', `/v2/${project_id}/calls/complete`, { batch })
  const since = performance.now()
  await send('PUT', `/monitors/${monitor.id}`, { project_id, token_budget: null })
  for (;;) {
    const { stats } = await send<{ stats: { judged: number; failed: number; pending: number }[] }>(
      'POST',
      '/monitors/stats',
      own,
    )
    const [{ judged, failed } = { judged: 0, failed: 0 }] = stats
    if (judged + failed >= calls) {
      if (judged === 0) throw new Error(`${name}: nothing was judged: ${JSON.stringify(stats)}`)
      break
    }
    await sleep(20)
  }
  const seconds = (performance.now() - since) / 1000
  const usage = await lastUsage()
  await send('DELETE', `/monitors/${monitor.id}?project_id=${encodeURIComponent(project_id)}`, {})
  return { perSecond: calls / seconds, written: usage }
}

/** The mean of the tokens that the last judges wrote. */
async function lastUsage(): Promise<number> {
  const answer = await fetch(`${address}/calls/stream_query`, {
    method: 'POST',
    headers,
    body: JSON.stringify({
      project_id,
      filter: { op_names: ['heddle.judge'] },
      sort_by: [{ field: 'started_at', direction: 'desc' }],
      limit: calls,
    }),
  })
  const lines = (await answer.text()).trim().split('\n')
  const written = lines.map((line) => {
    const { summary } = JSON.parse(line) as {
      summary: { usage: Record<string, { completion_tokens: number }> }
    }
    return Object.values(summary.usage)[0]?.completion_tokens ?? 0
  })
  return written.reduce((sum, tokens) => sum + tokens, 0) / written.length
}

const rates = new Map(Object.keys(judges).map((name) => [name, [] as Measured[]]))
try {
  for (let round = -1; round < rounds; round++) {
    for (const [name, judge] of Object.entries(judges)) {
      const measured = await measure(name, judge)
      if (round >= 0) rates.get(name)?.push(measured)
    }
  }
} finally {
  await stop()
}
const medianOf = (name: string) => spreadOf((rates.get(name) ?? []).map(({ perSecond }) => perSecond)).median
const rows = [...rates.keys()].map((name) => {
  const decided = medianOf(name.includes('3') ? '3 questions' : '1 question')
  const [{ written } = { written: 0 }] = rates.get(name) ?? []
  return [name, written.toFixed(1), medianOf(name).toFixed(1), (decided / medianOf(name)).toFixed(1)]
})
console.log(table(['judge', 'tokens written', 'calls a second', 'typed questions, times as many'], rows))
