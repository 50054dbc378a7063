import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { apiOf } from '../../src/http/errors.ts'
import { codeOf } from '../support/answers.ts'
import { keys } from '../support/app.ts'
import { openAppWithoutShedding } from '../support/app-without-shedding.ts'
import { completeOf, endOf, project, startOf } from '../support/calls.ts'
import { parseWithDigits } from '../support/digits.ts'
import { feedbackOf } from '../support/feedback.ts'
import { addressOf } from '../support/routes.ts'
import { adminsOnly, methodOf, sampleBodies } from '../support/sample-bodies.ts'

const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
const nestedObjects = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

/** The body with one more field at its start, whose value is this JSON. */
function withField(body: unknown, json: string): string {
  return JSON.stringify(body).replace('{', `{"unknown":${json},`)
}

const megabyte = 1024 * 1024
const manyKeys = `{${Array.from({ length: 20_000 }, (_, n) => `"key${n}":${n}`).join(',')}}`

const opened = await openAppWithoutShedding({ after: (close) => after(close) })

for (const [url, sampleOf] of Object.entries(sampleBodies)) {
  // Without credentials a caller may send a secret and nothing more: test/app/page/sessions.test.ts.
  if (url === '/ui/session' || url === '/invitations/accept') continue
  // Without the role of an admin, a caller is refused before the body is read: test/app/people.
  if (adminsOnly.has(url)) continue
  test(`${url}: a body may be large, odd and 200 levels deep, but no deeper`, async () => {
    const send = (body: string) => opened.send(methodOf(url), addressOf({ url }), body)
    const sample = sampleOf(project)
    // With a small value first: a route treats all unknown fields alike.
    const { status } = await send(withField(sample, '1'))
    assert.ok(status < 500, String(status))
    for (const [what, json] of [
      ['199 lists', nested(199)],
      ['199 objects', nestedObjects(199)],
      ['many keys', manyKeys],
      ['one key many times', `{${'"a":1,'.repeat(20_000)}"a":1}`],
      ['a number without end', `1e${'9'.repeat(1_000)}`],
      ['digits without end', '1'.repeat(100_000)],
      ['a fraction without end', `0.${'0'.repeat(100_000)}1`],
      ['escapes', `"${'\\u0000\\ud800\\"\\\\'.repeat(10_000)}"`],
      ['spaces', `[${' \n\t\r'.repeat(50_000)}]`],
      ['keys that JavaScript knows', '{"__proto__":{"a":1},"constructor":{"prototype":{"a":1}}}'],
    ] as const) {
      const answer = await send(withField(sample, json))
      assert.equal(answer.status, status, `${what}: ${answer.text.slice(0, 300)}`)
    }
    for (const [what, body] of [
      ['200 lists', withField(sample, nested(200))],
      ['200 objects', withField(sample, nestedObjects(200))],
      ['100,000 lists', withField(sample, nested(100_000))],
      ['100,000 objects', withField(sample, nestedObjects(100_000))],
      ['lists alone', '['.repeat(megabyte)],
      ['objects alone', '{"a":'.repeat(100_000)],
    ] as const) {
      const answer = await send(body)
      assert.deepEqual([answer.status, codeOf(answer)], [413, 'body_too_deep'], what)
    }
  })
}

test('numbers beyond every bound are refused in numeric fields', async (t) => {
  const { send } = await openAppWithoutShedding(t)
  const huge = ['1e999999', '-1e999999', '9'.repeat(100_000), `-${'9'.repeat(400)}`, '1e400']
  for (const [url, sampleOf] of Object.entries(sampleBodies)) {
    // Its messages are checked when they are asked.
    if (url === '/v1/messages/batches') continue
    const text = JSON.stringify(sampleOf(project))
    for (const field of text.matchAll(/"(\w+)":\d[\d.]*/g)) {
      const [found, name] = field
      // Values in the record are stored with every digit.
      if (['a', 'x', 'value'].includes(name as string)) continue
      for (const number of huge) {
        const body = text.replace(found, `"${name}":${number}`)
        const key = adminsOnly.has(url) ? keys.root : keys.alice
        const answer = await send(methodOf(url), addressOf({ url }), body, key)
        // Routes for clients of models answer 400 to an invalid value; the keys of a logit_bias are the client's own.
        const status = apiOf(url) === 'record' ? 422 : 400
        const code = name === '5' ? 'invalid_value' : 'invalid_request'
        assert.deepEqual([answer.status, codeOf(answer)], [status, code], `${url} ${name}`)
      }
    }
  }
})

test('numbers beyond every bound are read from the record as they were sent', async (t) => {
  const { post } = await openAppWithoutShedding(t)
  const numbers = `[1e999999,-1e-999999,${'9'.repeat(100_000)},0.${'1'.repeat(100_000)},-0,-0.0]`
  const expected = parseWithDigits(numbers)
  const { id, ...call } = completeOf()
  const text = JSON.stringify({ batch: [{ id, ...call, inputs: '@', output: '@' }] })
  const stored = await post(
    '/v2/acme/qa/calls/complete',
    text.replace('"@"', `{"n":${numbers}}`).replace('"@"', numbers),
  )
  assert.equal(stored.status, 200, stored.text)
  const read = await post('/call/read', { project_id: project, id })
  const { inputs, output } = (parseWithDigits(read.text) as { call: Record<string, unknown> }).call
  assert.deepEqual([inputs, output], [{ n: expected }, expected])
  for (const query of ['inputs.n.0', 'inputs.n.2', 'output.1']) {
    const compare = { $gt: [{ $convert: { input: { $getField: query }, to: 'double' } }, { $literal: 1 }] }
    const body = { project_id: project, query: { $expr: compare } }
    assert.equal((await post('/calls/query_stats', body)).status, 200, query)
    const sorted = { project_id: project, sort_by: [{ field: query, direction: 'asc' }] }
    assert.equal((await post('/calls/stream_query', sorted)).status, 200, query)
  }

  const obj = JSON.stringify({ obj: { project_id: project, object_id: 'n', val: '@' } })
  const made = await post('/obj/create', obj.replace('"@"', numbers))
  assert.equal(made.status, 200, made.text)
  const back = await post('/obj/read', { project_id: project, object_id: 'n', digest: made.json.digest })
  assert.deepEqual((parseWithDigits(back.text) as { obj: { val: unknown } }).obj.val, expected)
  const rows = JSON.stringify({ table: { project_id: project, rows: [{ n: '@' }] } })
  const table = await post('/table/create', rows.replace('"@"', numbers))
  const { text: queried } = await post('/table/query', { project_id: project, digest: table.json.digest })
  const [row] = (parseWithDigits(queried) as { rows: { val: unknown }[] }).rows
  assert.deepEqual(row?.val, { n: expected })
})

test('a number beyond every bound in a query is refused with its path', async (t) => {
  const { post } = await openAppWithoutShedding(t)
  for (const literal of ['1e999999', '9'.repeat(100_000), `0.${'1'.repeat(100_000)}`, '1e400']) {
    for (const url of ['/calls/stream_query', '/calls/query_stats', '/feedback/query', '/cost/query']) {
      const query = `{"$expr":{"$eq":[{"$getField":"id"},{"$literal":${literal}}]}}`
      const { status, json } = await post(url, `{"project_id":"acme/qa","query":${query}}`)
      assert.deepEqual([status, json.code], [422, 'invalid_expression'], url)
      assert.ok(json.reason.startsWith('query.$expr.$eq[1].$literal: is '), json.reason.slice(0, 200))
      assert.ok(json.reason.length < 300)
    }
  }
})

test('the last of several fields with the same name counts, also when only one of them is deeply nested', async (t) => {
  const { post } = await openAppWithoutShedding(t)
  const start = JSON.stringify(startOf())
  const twice = (fields: string) => post('/call/start', `{"start":${start.replace('{', `{${fields}`)}}`)
  assert.equal((await twice('"inputs":{},'.repeat(50_000))).status, 200)
  assert.equal((await twice('"project_id":"globex/qa","inputs":5,"start":null,')).status, 200)
  assert.equal((await twice(`"inputs":${nested(300)},`)).status, 413)
  const last = start.replace(/\}$/, ',"project_id":"globex/qa"}')
  const { status, json } = await post('/call/start', `{"start":${last}}`)
  assert.deepEqual([status, json.code], [403, 'entity_forbidden'])
  const batches = '"batch":[],'.repeat(50_000)
  const batch = await post(
    '/call/upsert_batch',
    `{${batches}"batch":[{"mode":"start","req":{"start":${start}}}]}`,
  )
  assert.equal(batch.status, 200, batch.text)
  assert.equal(batch.json.res.length, 1)
})

test('a body of 32 MiB is accepted, and one byte more is refused', async (t) => {
  const { post } = await openAppWithoutShedding(t)
  const limit = 32 * megabyte
  const text = JSON.stringify({ end: endOf(startOf().id) })
  assert.equal((await post('/call/end', text.padEnd(limit))).status, 200)
  const { status, json } = await post('/call/end', text.padEnd(limit + 1))
  assert.deepEqual([status, json.code], [413, 'body_too_large'])
})

test('a list that fills a body is refused by the name of its field', async (t) => {
  const { post } = await openAppWithoutShedding(t)
  const list = (count: number, item = '"x"') => `[${`${item},`.repeat(count - 1)}${item}]`
  const many = list(100_000)
  const empty = list(100_000, '{}')
  for (const [url, field, fields] of [
    ['/refs/read_batch', 'refs', `"refs":${many}`],
    ['/calls/delete', 'call_ids', `"call_ids":${many}`],
    ['/obj/delete', 'digests', `"object_id":"o","digests":${many}`],
    ['/calls/stream_query', 'filter.call_ids', `"filter":{"call_ids":${many}}`],
    ['/calls/stream_query', 'columns', `"columns":${many}`],
    ['/calls/stream_query', 'expand_columns', `"expand_columns":${many}`],
    ['/annotation_queues/q/items', 'call_ids', `"call_ids":${many}`],
    ['/annotation_queues/stats', 'queue_ids', `"queue_ids":${many}`],
    ['/annotation_queues', 'scorer_refs', `"name":"q","scorer_refs":${many}`],
    ['/feedback/query', 'fields', `"fields":${many}`],
    ['/feedback/batch/create', 'batch.0', `"batch":${empty}`],
    ['/call/upsert_batch', 'batch.0', `"batch":${empty}`],
    ['/objs/query', 'filter.object_ids', `"filter":{"object_ids":${many}}`],
    ['/table/query_stats_batch', 'digests', `"digests":${many}`],
    ['/table/create', 'table', `"table":{"project_id":"acme/qa","rows":${list(1_000_001, '{}')}}`],
    ['/table/create_from_digests', 'row_digests', `"row_digests":${list(1_000_001)}`],
  ] as const) {
    const { status, json, text } = await post(url, `{"project_id":"acme/qa",${fields}}`)
    assert.ok([400, 413, 422].includes(status), `${url}: ${status}`)
    assert.ok(json.reason.includes(field), `${url}: ${json.reason.slice(0, 200)}`)
    assert.ok(text.length < 50_000, `${url}: ${text.length} characters`)
  }
})

test('an oversized payload of feedback is refused before it is processed', async (t) => {
  const { post } = await openAppWithoutShedding(t)
  const large = 'x'.repeat(2 * megabyte)
  for (const [feedback_type, payload] of [
    ['thumbs', { large }],
    ['wandb.note.1', { note: large }],
    ['wandb.reaction.1', { emoji: large }],
  ] as const) {
    const { status, json } = await post('/feedback/create', feedbackOf({ feedback_type, payload }))
    assert.equal(status, 400)
    assert.ok(['payload_too_large', 'invalid_payload'].includes(json.code), json.code)
    assert.ok(json.reason.length < 400)
  }
})
