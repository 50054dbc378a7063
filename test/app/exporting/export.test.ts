import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { keys, openApp } from '../../support/app.ts'
import { completeOf, startOf } from '../../support/calls.ts'
import { secret, storeOneOfEach } from '../../support/one-of-each.ts'

const opened = await openApp({ after })
const { post } = opened
const url = '/calls/export'

const linesOf = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, Record<string, unknown>>)
const kindsOf = (text: string) => linesOf(text).map((line) => Object.keys(line)[0])

test('a project is written as lines: what is referred to comes before what refers to it', async () => {
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

test('calls that a filter or a query finds bring the feedback about them, and no other', async () => {
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

test('digits stay, and an export goes on behind a call', async () => {
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

test('what it does not take is refused by name', async () => {
  const project_id = 'acme/refused'
  for (const [body, status, reason] of [
    [{ project_id: 'globex/qa' }, 403, /globex/],
    [{ project_id, kinds: ['monitors'] }, 422, /kinds\.0/],
    [{ project_id, kinds: [] }, 422, /kinds/],
    [{ project_id, sort_by: [] }, 422, /sort_by: unknown field/],
    [{ project_id, query: { $expr: { $no: [] } } }, 422, /query/],
    [{ project_id, after: '0194c1a0-0000-7000-8000-000000000001' }, 404, /after/],
  ] as const) {
    const answer = await post(url, body)
    assert.equal(answer.status, status, answer.text)
    assert.match(answer.json.reason, reason)
  }
})

test('a project without anything is a first and a last line', async () => {
  const { status, text } = await post(url, { project_id: 'acme/nothing' })
  assert.equal(status, 200)
  assert.deepEqual(kindsOf(text), ['export', 'end'])
})
