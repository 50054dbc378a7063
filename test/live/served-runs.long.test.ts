import assert from 'node:assert/strict'
import { test } from 'node:test'
import { project } from '../support/calls.ts'
import { newFolder, type RunningServer, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const settings = { HEDDLE_MODEL: 'builtin' }
const rowCount = 1_000
const ofProject = `/v2/${project}`

// biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
async function ok(server: RunningServer, url: string, body: object): Promise<any> {
  const answer = await server.post(url, body)
  const text = await answer.text()
  assert.equal(answer.status, 200, `${url}: ${text}`)
  return JSON.parse(text)
}

async function started(server: RunningServer): Promise<string[]> {
  const rows = Array.from({ length: rowCount }, (_, n) => ({ question: `What is ${n}?` }))
  await ok(server, `${ofProject}/datasets`, { name: 'numbers', rows })
  const rude = { type: 'predicate', name: 'rude', instructions: 'Is it rude?' }
  const schema = { type: 'object', properties: { good: { type: 'boolean' } }, required: ['good'] }
  const scorers: { scorer: string }[] = []
  for (const [name, judge] of Object.entries({
    manners: { prompt: '{output}', questions: [rude] },
    quality: { prompt: '{output}', schema },
  })) {
    const { scorer } = await ok(server, `${ofProject}/scorers`, { name, judge })
    scorers.push({ scorer })
  }
  const request = { max_completion_tokens: 4, temperature: 0 }
  const { evaluation_run_ids } = await ok(server, `${ofProject}/evaluation_runs/serve`, {
    name: 'counting',
    dataset: `weave:///${project}/object/numbers:latest`,
    prompt: '{question}',
    settings: [
      { name: 'a', request },
      { name: 'b', system: 'Be brief.', request },
    ],
    scorers,
  })
  return evaluation_run_ids
}

async function statusOf(server: RunningServer, run: string): Promise<unknown> {
  const state = await (await server.get(`${ofProject}/evaluation_runs/${run}`)).json()
  return (state as { status: unknown }).status
}

const callsOf = async (server: RunningServer, op: string): Promise<number> =>
  (await ok(server, '/calls/query_stats', { project_id: project, filter: { op_names: [op] } })).count

/** How often each row was answered, and the scorers of each answer. */
async function trialsOf(server: RunningServer, run: string) {
  const seen: string[] = []
  const query = {
    project_id: project,
    filter: { trace_ids: [run], op_names: ['Evaluation.predict_and_score'] },
  }
  const answer = await server.post('/calls/stream_query', query)
  for (const line of (await answer.text()).split('\n').filter((text) => text !== '')) {
    const { inputs, output, ended_at } = JSON.parse(line)
    assert.ok(ended_at, line)
    seen.push(inputs.example.question)
    assert.deepEqual(Object.keys(output.scores).sort(), ['manners', 'quality'], line)
  }
  return seen
}

test('1,000 rows, two settings and two judges: after two kills each row is answered and judged once', async (t) => {
  const folder = await newFolder(t)
  const open = () => startServer(t, { ...settings, HEDDLE_DATA: folder })
  let server = await open()
  await until('the model is ready', async () => (await server.get('/ready')).status === 200)
  const runs = await started(server)
  for (const trials of [300, 1_200]) {
    await until(
      `${trials} trials began`,
      async () => (await callsOf(server, 'Evaluation.predict_and_score')) >= trials,
    )
    assert.equal(await server.end('SIGKILL'), 'SIGKILL')
    server = await open()
  }
  for (const run of runs) {
    await until(`${run} has ended`, async () => (await statusOf(server, run)) !== 'running')
    assert.equal(await statusOf(server, run), 'completed')
    const rows = await trialsOf(server, run)
    assert.equal(new Set(rows).size, rowCount)
    assert.equal(rows.length, rowCount)
  }
  assert.equal(await server.end('SIGTERM'), 0)
})
