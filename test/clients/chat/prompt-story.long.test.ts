import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import OpenAI from 'openai'
import { keys } from '../../support/app.ts'
import { completeOf, project } from '../../support/calls.ts'
import { startFakeUpstream, streamWords } from '../../support/fake-upstream.ts'
import { newFolder, type RunningServer, startOne } from '../../support/server.ts'
import { until } from '../../support/wait.ts'

const label = '/objs/support/aliases/production'
const evaluation = `weave:///${project}/object/capitals:latest`

// Kills come right after a step was acknowledged: what was acknowledged is all that a new process finds.
test('a prompt refused, mended, shadowed, promoted and rolled back, with a kill after each step', async (t) => {
  // Says what the first message tells it to say.
  const upstream = await startFakeUpstream(t, (response, asked) => {
    const content = /Say (\w+)/.exec(asked.body.messages[0].content)?.[1] ?? 'nothing'
    return streamWords(content)(response, asked)
  })
  const settings = { HEDDLE_DATA: await newFolder(t), HEDDLE_MODEL: upstream.url }
  let server: RunningServer = await startOne(t, settings)
  const restart = async () => {
    assert.equal(await server.end('SIGKILL'), 'SIGKILL')
    server = await startOne(t, settings)
  }
  const send = async (method: string, url: string, body: object, key = keys.alice) => {
    const answer = await server.post(url, { project_id: project, ...body }, { method, key })
    // biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
    return { status: answer.status, json: (await answer.json()) as any }
  }
  const ok = async (...request: Parameters<typeof send>) => {
    const { status, json } = await send(...request)
    assert.equal(status, 200, JSON.stringify(json))
    return json
  }
  const read = async (of: 'gate' | 'shadow') =>
    // biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
    (await server.get(`${label}/${of}?project_id=${project}`)).json() as Promise<any>
  const publish = async (object_id: string, val: object) =>
    (await ok('POST', '/obj/create', { obj: { project_id: project, object_id, val } })).digest as string
  /** What an unmodified client is told, and by which version. */
  const ask = async () => {
    const client = new OpenAI({
      ...{ baseURL: `${server.address}/v1`, apiKey: keys.alice },
      defaultHeaders: { 'x-heddle-project': project },
    })
    const { data, response } = await client.chat.completions
      .create({ model: 'support@production', messages: [{ role: 'user', content: 'Well?' }] })
      .withResponse()
    const [name, version] = String(response.headers.get('x-heddle-prompt')).split(':')
    assert.equal(name, 'support')
    return [data.choices[0]?.message.content, version]
  }
  /** A finished run of the evaluation with a version. */
  const run = async (version: string, right: number, wrong: number) => {
    const id = randomUUID()
    const model = `weave:///${project}/object/support:${version}`
    const inputs = { self: evaluation, model }
    const root = { id, op_name: 'Evaluation.evaluate', inputs, output: {}, summary: {} }
    const trials = Array.from({ length: right + wrong }, (_, row) => ({
      ...{ id: randomUUID(), trace_id: id, parent_id: id, op_name: 'Evaluation.predict_and_score' },
      inputs: { ...inputs, example: { row } },
      output: { output: 'x', scores: { exact: row < right }, model_latency: 0.25 },
    }))
    await ok('POST', `/v2/${project}/calls/complete`, { batch: [root, ...trials].map(completeOf) })
    return id
  }
  const move = (body: object) => send('POST', `${label}/move`, body)

  const first = await publish('support', { content: 'Say no.' })
  assert.equal((await move({ digest: 'v0' })).status, 200)
  await restart()
  assert.deepEqual(await ask(), ['no', first])

  await publish('capitals', { name: 'capitals' })
  const conditions = [{ field: 'scores.exact', no_row_lost: true }]
  await ok('PUT', `${label}/gate`, { gate: { evaluation, conditions } }, keys.root)
  await restart()
  const second = await publish('support', { content: 'Say maybe.' })
  const [before, worse] = [await run(first, 8, 2), await run(second, 6, 4)]
  const refused = await move({ digest: second, run: worse, baseline_run: before })
  assert.equal(refused.json.code, 'gate_not_passed')
  await restart()
  assert.deepEqual(await ask(), ['no', first])

  const third = await publish('support', { content: 'Say yes.' })
  const check = { kind: 'contains', any_of: ['yes'] }
  const { scorer } = await ok('POST', `/v2/${project}/scorers`, { name: 'right', check })
  await ok('PUT', `${label}/shadow`, { shadow: { version: third, share: 1, scorer, min_pairs: 10 } })
  await restart()
  assert.equal((await read('shadow')).shadow.version, third)
  for (let n = 0; n < 12; n++) assert.deepEqual(await ask(), ['no', first])
  // Some pairs are asked at that time, some wait, and some are settled.
  await until('a pair', async () => (await read('shadow')).pairs > 0)
  await restart()
  for (let n = 0; n < 4; n++) assert.deepEqual(await ask(), ['no', first])
  const calls = async (op: string) => {
    const answer = await server.post('/calls/stream_query', {
      ...{ project_id: project, filter: { op_names: [op] } },
    })
    return (await answer.text())
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  }
  const ids = async () => (await calls('heddle.chat.completions')).map(({ id }) => String(id))
  await until('each recorded call is paired', async () => {
    const { pairs, waiting } = await read('shadow')
    // Two were asked before there was a shadow.
    return waiting === 0 && pairs >= 14 && pairs === (await ids()).length - 2
  })
  const paired = (await calls('heddle.shadow')).map(({ attributes, output }) => {
    assert.equal(output.choices[0].message.content, 'yes')
    return String(attributes.heddle.shadow.call.split('/').at(-1))
  })
  assert.equal(new Set(paired).size, paired.length, 'each call is asked about once in the record')
  const { pairs, wins, decision, verdict } = await read('shadow')
  assert.deepEqual([paired.length, wins, decision], [pairs, pairs, 'better'])
  assert.match(
    verdict,
    /^After \d+ pairs v2 is better than v0 in 100 % of those that differ \(at least \d+ %\)\.$/,
  )

  const better = await run(third, 10, 0)
  assert.equal((await move({ digest: third, run: better, baseline_run: before })).status, 200)
  await restart()
  assert.deepEqual(await ask(), ['yes', third])
  assert.equal((await read('shadow')).shadow.why_ended, 'the label was moved')
  assert.equal((await move({ back: true })).status, 200)
  await restart()
  assert.deepEqual(await ask(), ['no', first])
  assert.deepEqual([(await read('gate')).digest, (await read('shadow')).pairs], [first, pairs])

  for (const { attributes, output } of await calls('heddle.chat.completions')) {
    const { version } = attributes.heddle.prompt
    assert.equal(version, output.choices[0].message.content === 'yes' ? third : first)
  }
})
