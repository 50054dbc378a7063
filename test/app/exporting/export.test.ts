import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import { parquetReadObjects } from 'hyparquet'
import { basic, keys, openApp } from '../../support/app.ts'
import { completeOf, startOf } from '../../support/calls.ts'
import { serveApp } from '../../support/event-stream.ts'
import { secret, storeOneOfEach } from '../../support/one-of-each.ts'
import { type RawRequest, rawPost } from '../../support/raw-client.ts'
import { until } from '../../support/wait.ts'

const opened = await openApp({ after })
const { post } = opened
const url = '/calls/export'

const linesOf = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, Record<string, unknown>>)
const kindsOf = (text: string) => linesOf(text).map((line) => Object.keys(line)[0])

test('an export is lines of JSON, in which everything precedes what refers to it', async () => {
  const project = 'acme/whole'
  await storeOneOfEach(opened, project, keys.alice)
  const { status, headers, text } = await post(url, { project_id: project })
  assert.equal(status, 200, text)
  assert.equal(headers['content-type'], 'application/jsonl')
  const kinds = kindsOf(text)
  assert.deepEqual([...new Set(kinds)], ['export', 'file', 'rows', 'object', 'call', 'feedback', 'end'])
  const end = linesOf(text).at(-1)?.end ?? {}
  for (const [line, kind] of [
    ['object', 'objects'],
    ['call', 'calls'],
    ['feedback', 'feedback'],
  ] as const) {
    assert.equal(end[kind], kinds.filter((name) => name === line).length, kind)
  }
  assert.ok(text.includes(secret))
})

test('an export of filtered calls includes the feedback about them, and no other', async () => {
  const project_id = 'acme/some'
  const [one, other] = [
    completeOf({ project_id, op_name: 'one' }),
    completeOf({ project_id, op_name: 'other' }),
  ]
  await post(`/v2/${project_id}/calls/complete`, { batch: [one, other] })
  for (const { id } of [one, other]) {
    const svc_ref = `weave:///${project_id}/call/${id}`
    await post('/feedback/create', { project_id, svc_ref, feedback_type: 'own', payload: { id } })
  }
  const query = { $expr: { $eq: [{ $getField: 'op_name' }, { $literal: 'one' }] } }
  for (const chosen of [{ filter: { op_names: ['one'] } }, { query }]) {
    const { text } = await post(url, { project_id, ...chosen })
    assert.deepEqual(kindsOf(text), ['export', 'call', 'feedback', 'end'])
    assert.ok(text.includes(one.id) && !text.includes(other.id))
    const said = await post(url, { project_id, ...chosen, kinds: ['feedback'] })
    assert.deepEqual(kindsOf(said.text), ['export', 'feedback', 'end'])
    assert.ok(!said.text.includes(other.id))
  }
})

test('an export keeps digits, and can continue after a call', async () => {
  const project_id = 'acme/digits'
  const ids: string[] = []
  for (let n = 0; n < 5; n++) {
    const start = startOf({ project_id, started_at: `2026-01-02T03:04:0${5 - n}Z`, inputs: {} })
    const body = JSON.stringify({ start }).replace(
      '"inputs":{}',
      `"inputs":{"big":1234567890123456789${n},"one":1.0}`,
    )
    assert.equal((await post('/call/start', body)).status, 200)
    ids.unshift(start.id)
  }
  const { text } = await post(url, { project_id, kinds: ['calls'] })
  assert.deepEqual(
    linesOf(text)
      .slice(1, -1)
      .map(({ call }) => call?.id),
    ids,
  )
  assert.ok(text.includes('"inputs":{"big":12345678901234567893,"one":1.0}'))
  const rest = await post(url, { project_id, kinds: ['calls'], after: ids[2] })
  assert.deepEqual(
    linesOf(rest.text)
      .slice(1, -1)
      .map(({ call }) => call?.id),
    ids.slice(3),
  )
})

test('unsupported fields and values are refused, and named', async () => {
  const project_id = 'acme/refused'
  for (const [body, status, reason] of [
    [{ project_id: 'globex/qa' }, 403, /globex/],
    [{ project_id, kinds: ['monitors'] }, 422, /kinds\.0/],
    [{ project_id, kinds: [] }, 422, /kinds/],
    [{ project_id, format: 'csv' }, 422, /format/],
    [{ project_id, format: 'parquet' }, 400, /kinds: .*everything.*one kind/],
    [{ project_id, format: 'parquet', kinds: ['calls', 'feedback'] }, 400, /kinds: .*calls, feedback/],
    [{ project_id, sort_by: [] }, 422, /sort_by: unknown field/],
    [{ project_id, query: { $expr: { $no: [] } } }, 422, /query/],
    [{ project_id, after: '0194c1a0-0000-7000-8000-000000000001' }, 404, /after/],
  ] as const) {
    const answer = await post(url, body)
    assert.equal(answer.status, status, answer.text)
    assert.match(answer.json.reason, reason)
  }
})

test('an invalid query is refused even when the calls follow much other content', async () => {
  const project_id = 'acme/much'
  const rows = Array.from({ length: 40 }, (_, n) => ({ n, text: randomBytes(4_000).toString('hex') }))
  for (const row of rows) {
    const stored = await post('/table/create', { table: { project_id, rows: [row] } })
    assert.equal(stored.status, 200, stored.text)
  }
  const query = { $expr: { $eq: [{ $getField: 'colour' }, { $literal: 'red' }] } }
  for (const kinds of [undefined, ['tables', 'feedback'], ['tables']]) {
    const { status, json } = await post(url, { project_id, query, ...(kinds && { kinds }) })
    assert.equal(status, 422)
    assert.match(json.reason, /^query: there is no field "colour"/)
  }
})

test('an empty project is exported as a first and a last line', async () => {
  const { status, text } = await post(url, { project_id: 'acme/nothing' })
  assert.equal(status, 200)
  assert.deepEqual(kindsOf(text), ['export', 'end'])
})

test('Parquet has a column for each member, with JSON and times in full', async (t) => {
  const { address, post } = await serveApp(t)
  const project_id = 'acme/columns'
  const start = startOf({ project_id, started_at: '2026-01-02T03:04:05.123456Z', inputs: {} })
  const inputs = '{"big":12345678901234567890,"one":1.0,"half":"\\ud800"}'
  await post('/call/start', JSON.stringify({ start }).replace('"inputs":{}', `"inputs":${inputs}`))
  const response = await fetch(`${address}${url}`, {
    method: 'POST',
    headers: { authorization: basic(keys.alice), 'content-type': 'application/json' },
    body: JSON.stringify({ project_id, format: 'parquet', kinds: ['calls'] }),
  })
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-type'), 'application/vnd.apache.parquet')
  const [row, ...others] = await parquetReadObjects({
    file: await response.arrayBuffer(),
    compressors: { ZSTD: (page) => zstdDecompressSync(page) },
    parsers: { timestampFromMicroseconds: String },
  })
  assert.deepEqual(others, [])
  assert.equal(row?.id, start.id)
  assert.equal(row?.inputs, inputs)
  assert.equal(row?.started_at, String(Date.UTC(2026, 0, 2, 3, 4, 5) * 1000 + 123456))
  assert.equal(row?.ended_at, null)
})

for (const [format, most] of [
  ['jsonl', 4],
  ['parquet', 2],
] as const) {
  test(`a user may have ${most} stalled exports of ${format}, and closing one makes room`, async (t) => {
    const unread: RawRequest[] = []
    // Runs before the app closes, because closing waits for clients.
    t.after(() => {
      for (const { socket } of unread) socket.destroy()
    })
    const { address, post } = await serveApp(t)
    const asked = { project_id: 'acme/unread', format, kinds: ['calls'] }
    // More than fits into socket buffers, even when compressed.
    for (let n = 0; n < 24; n++) {
      const call = completeOf({ project_id: 'acme/unread', output: randomBytes(1 << 20).toString('base64') })
      assert.equal((await post('/v2/acme/unread/calls/complete', { batch: [call] })).status, 200)
    }
    const open = async () => {
      const one = await rawPost(address, url, asked)
      unread.push(one)
      await one.begun()
      return String(one.socket.read(40)).includes(' 200 ') ? 'open' : 'refused'
    }
    for (let one = 0; one < most; one++) assert.equal(await open(), 'open')
    assert.equal(await open(), 'refused')
    const refused = await post(url, asked)
    assert.deepEqual([refused.status, refused.json.code], [429, 'too_many_exports'])
    const others = await post(url, { ...asked, project_id: 'globex/own' }, keys.bob)
    assert.equal(others.status, 200, 'other users have limits of their own')
    unread[0]?.socket.destroy()
    await until('closing one makes room', async () => (await open()) === 'open')
  })
}
