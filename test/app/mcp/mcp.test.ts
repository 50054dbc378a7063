import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { codexSteps, codexTurn } from '../../fixtures/codex-turn.ts'
import { keys, openApp } from '../../support/app.ts'
import { completeOf, project } from '../../support/calls.ts'
import { root } from '../../support/evaluation-runs.ts'
import { exportOf } from '../../support/otlp.ts'
import { scriptedBackend, type Turn } from '../../support/scripted-backend.ts'
import { until } from '../../support/wait.ts'

const { app, post, get } = await openApp({ after })

const callOf = (name: string, args: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: args },
})

/** The result in the stream of events that clients of the older protocol get. */
const resultOf = ({ text }: { text: string }) => JSON.parse(text.split('data: ')[1] ?? '{}').result

test('without a key the answer says which are taken', async () => {
  const { statusCode, headers } = await app.inject({ method: 'POST', url: '/mcp', payload: callOf('x', {}) })
  assert.equal(statusCode, 401)
  assert.match(String(headers['www-authenticate']), /Bearer/)
})

test('a page of another site is refused, and one of the server itself is served', async () => {
  const statusFor = async (origin: string) => {
    const headers = { authorization: `Bearer ${keys.alice}`, host: 'heddle.example', origin }
    return (
      await app.inject({ method: 'POST', url: '/mcp', headers, payload: callOf('describe_record', {}) })
    ).statusCode
  }
  assert.equal(await statusFor('https://other.example'), 403)
  assert.equal(await statusFor('null'), 403)
  assert.equal(await statusFor('https://heddle.example'), 200)
})

test('there is no stream to open, and a large body is refused', async () => {
  assert.equal((await get('/mcp')).status, 405)
  assert.equal((await post('/mcp', callOf('x', { x: 'x'.repeat(4 * 1024 * 1024) }))).status, 413)
})

test('a request with the header of inner requests needs its key all the same', async () => {
  const headers = { 'x-heddle-inside': '00000000-0000-4000-8000-000000000000' }
  const { statusCode } = await app.inject({ method: 'POST', url: '/mcp', headers, payload: callOf('x', {}) })
  assert.equal(statusCode, 401)
})

test('hostile arguments are refused in words', async () => {
  await post(`${root}/calls/complete`, { batch: [completeOf()] })
  for (const [name, args] of [
    ['search_calls', { project, filter: '('.repeat(200) }],
    ['search_calls', { project, filter: 'x:"' }],
    ['search_calls', { project, cursor: "0'; DROP TABLE calls" }],
    ['search_calls', { project, sort: 'slowest', cursor: '-1' }],
    ['get_trace', { project, trace_id: '\u0000' }],
    ['get_trace', { project, trace_id: 'x', cursor: '1e9' }],
    ['get_thread', { project, cursor: 'x' }],
    ['get_call', { project, id: '../../x' }],
    ['get_call', { project: '../x', id: 'x' }],
    ['next_queue_item', { project, queue_id: '../projects' }],
    ['finish_queue_item', { project, queue_id: 'x/../y', item_id: 'z', state: 'completed' }],
    ['run_evaluation', { project, name: 'x', dataset: 'weave:///globex/qa/object/x:latest' }],
    ['chart', { project, metric: 'calls', since: '1us', until: '9999d' }],
    ['count_calls', { project, group_by: 'inputs' }],
    ['get_call', JSON.parse(`{"project": "${project}", "id": "x", "__proto__": {"a": 1}}`)],
  ] as const) {
    const answer = await post('/mcp', callOf(name, args))
    assert.equal(answer.status, 200, answer.text)
    const { isError, content } = resultOf(answer)
    assert.equal(isError, true, `${name} ${JSON.stringify(args)}: ${answer.text}`)
    assert.ok(
      content[0].text.length > 10 && !/internal_error|could not answer/.test(content[0].text),
      content[0].text,
    )
  }
})

test('an annotator and a key for reviews get the item with its questions, and why some cannot be read', async () => {
  const call = completeOf()
  await post(`${root}/calls/complete`, { batch: [call] })
  const schema = { type: 'number' }
  const val = { name: 'rating', description: 'How good?', field_schema: schema }
  const obj = { project_id: project, object_id: 'rating', val, builtin_object_class: 'AnnotationSpec' }
  const { digest } = (await post('/obj/create', { obj })).json
  const ref = `weave:///${project}/object/rating:${digest}`
  const missing = `weave:///${project}/object/nothing:v0`
  const queue = { project_id: project, name: 'review', scorer_refs: [ref, missing, 'any text'] }
  const { id } = (await post('/annotation_queues', queue)).json
  await post(`/annotation_queues/${id}/items`, { project_id: project, call_ids: [call.id] })
  const keyOf = async (name: string, role: string) =>
    (await post('/users', { name, grants: [{ scope: project, role }] }, keys.root)).json.key.key
  const annotator = await keyOf('annotator', 'annotator')
  const editor = await keyOf('editor', 'editor')
  const review = (await post('/keys', { scopes: ['review'] }, editor)).json.key
  for (const key of [annotator, review, editor]) {
    const { isError, structuredContent } = resultOf(
      await post('/mcp', callOf('next_queue_item', { project, queue_id: id }), key),
    )
    assert.equal(isError, undefined)
    const { item, questions } = structuredContent
    assert.equal(item.call.id, call.id)
    assert.deepEqual(questions[0], { ref, question: 'How good?', accepts: JSON.stringify(schema) })
    assert.deepEqual([questions[1].ref, questions[2].ref], [missing, 'any text'])
    assert.match(questions[1].error, /there is no object "nothing"/)
    assert.match(questions[2].error, /no reference to an object/)
    const url = `/annotation_queues/${id}/items/${item.item_id}/release`
    assert.equal((await post(url, { project_id: project }, key)).status, 200)
  }
})

test('a trace leaves inner steps out unless they are asked for', async () => {
  const trace_id = 'd'.repeat(32)
  const spans = exportOf(codexTurn(trace_id, 40))
  assert.equal((await post('/otel/v1/traces', spans)).status, 200)
  const traceOf = async (more: object) =>
    resultOf(await post('/mcp', callOf('get_trace', { project, trace_id, ...more }))).structuredContent
  const brief = await traceOf({})
  assert.deepEqual(
    brief.calls.map(({ op }: { op: string }) => op).sort(),
    codexSteps.map(({ name }) => name).sort(),
  )
  assert.deepEqual([brief.total, brief.inner_steps_left_out, brief.next], [50, 40, undefined])
  // The span between a step and its caller is left out.
  const depthOf = (name: string) => brief.calls.find(({ op }: { op: string }) => op === name).depth
  assert.deepEqual([depthOf('session_task.turn'), depthOf('run_turn')], [1, 2])
  const whole = await traceOf({ inner_steps: true })
  assert.deepEqual([whole.calls.length, whole.inner_steps_left_out], [50, undefined])
})

test('an item of a pair has both calls', async () => {
  const calls = [completeOf(), completeOf()]
  await post(`${root}/calls/complete`, { batch: calls })
  const call_ids = calls.map(({ id }) => id)
  const { id } = (await post('/annotation_queues', { project_id: project, name: 'pairs', scorer_refs: [] }))
    .json
  await post(`/annotation_queues/${id}/items`, { project_id: project, pairs: [{ call_ids }] })
  const answer = await post('/mcp', callOf('next_queue_item', { project, queue_id: id }))
  const { item } = resultOf(answer).structuredContent
  assert.deepEqual([item.call.id, item.other.call.id], [item.call_id, item.other_call_id])
  assert.deepEqual([item.call_id, item.other_call_id].sort(), call_ids.toSorted())
})

test('rows that are added at the same time are all in the dataset', async () => {
  await post(`${root}/datasets`, { name: 'shared', rows: [{ n: 0 }] })
  const added = [1, 2, 3, 4]
  const answers = await Promise.all(
    added.map((n) => post('/mcp', callOf('add_dataset_row', { project, dataset: 'shared', row: { n } }))),
  )
  for (const answer of answers) assert.equal(resultOf(answer).isError, undefined, answer.text)
  const { obj } = (await post('/obj/read', { project_id: project, object_id: 'shared', digest: 'latest' }))
    .json
  const digest = obj.val.rows.split('/').at(-1)
  const { rows } = (await post('/table/query', { project_id: project, digest })).json
  assert.deepEqual(rows.map(({ val }: { val: { n: number } }) => val.n).sort(), [0, ...added])
})

test('one tool is one request of the limits of its caller', async (t) => {
  const { post: send, database } = await openApp(t)
  const change = { requests_per_minute: 3, requests_at_once: 1 }
  await database.write('changeUserSettings', { name: 'alice', change, isConfigured: true, now: 1 })
  const ask = () => send('/mcp', callOf('describe_record', { project }))
  for (let n = 0; n < 3; n++) assert.equal(resultOf(await ask()).isError, undefined)
  const refused = await ask()
  assert.equal(refused.status, 429)
})

test('a client that leaves ends what its tool waits for', async (t) => {
  const backend = scriptedBackend(async function* (_request, signal): AsyncGenerator<Turn> {
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  })
  const opened = await openApp(t, { backend })
  const address = await opened.app.listen({ host: '127.0.0.1', port: 0 })
  const question = { type: 'predicate', instructions: 'Is it?' }
  const leaving = new AbortController()
  const answer = fetch(`${address}/mcp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys.alice}`, 'content-type': 'application/json' },
    body: JSON.stringify(callOf('ask_decision', { input: 'x', questions: [question] })),
    signal: leaving.signal,
  }).then((response) => response.text())
  await until('the model is asked', () => backend.asked.length > 0)
  leaving.abort()
  await assert.rejects(answer, { name: 'AbortError' })
  await backend.abortedAtLeast(1)
})

test('the operator switches tools that change something off, or all', async (t) => {
  const reading = await openApp(t, { settings: { HEDDLE_MCP: 'read_only' } })
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  const { tools } = resultOf(await reading.post('/mcp?read_only=0', list))
  assert.ok(
    tools.every(({ annotations }: { annotations: { readOnlyHint: boolean } }) => annotations.readOnlyHint),
  )
  const off = await openApp(t, { settings: { HEDDLE_MCP: 'off' } })
  assert.equal((await off.post('/mcp', list)).status, 404)
})
