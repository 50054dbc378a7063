import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { renameSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { now } from '../../../src/domain/time.ts'
import { makersOf } from '../../../src/storage/queues/preferences.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { openApp } from '../../support/app.ts'
import { completeOf, endOf, project, startOf } from '../../support/calls.ts'
import { coldParts, filesIn, moveAll, openColdRecord } from './cold-app.ts'

const long = (name: string) => `${name} ${'said that the answer is 42 and '.repeat(20)}`

function coldCall(fields: Record<string, unknown> = {}) {
  const id = randomUUID()
  return completeOf({
    id,
    trace_id: id,
    thread_id: 'talk',
    inputs: { question: long(`Q${id}`), n: 1.5, model: 'm' },
    output: { choices: [{ message: { role: 'assistant', content: long(`A${id}`) } }] },
    ...fields,
  })
}

async function openWithCalls(t: TestContext, calls: ReturnType<typeof completeOf>[]) {
  const cold = await openColdRecord(t)
  const app = await openApp(t, { database: cold.database })
  const write = async (batch: ReturnType<typeof completeOf>[]) => {
    const { status, text } = await app.post('/v2/acme/qa/calls/complete', { batch })
    assert.equal(status, 200, text)
  }
  await write(calls)
  const read = (id: string) => app.post('/call/read', { project_id: project, id })
  const references = () =>
    cold.database.cold?.bare.all<{ id: string; inputs: string; output: string }>(
      sql`SELECT id, inputs, output FROM calls WHERE project_id = ${project} AND substr(inputs, 1, 1) = ' ' ORDER BY id`,
    )
  return { ...cold, ...app, write, read, references }
}

test('cold calls: every route that shows a document shows the same after the move', async (t) => {
  const calls = [coldCall(), coldCall(), coldCall({ output: null }), coldCall({ inputs: {} })]
  const small = completeOf({ inputs: { a: 1 }, output: 'b' })
  const { post, database, folder, references } = await openWithCalls(t, [...calls, small])
  const answers = async () => {
    const bodies: [string, object][] = [
      ...calls.map(({ id }): [string, object] => [
        '/call/read',
        { project_id: project, id, include_costs: true },
      ]),
      ['/calls/stream_query', { project_id: project }],
      ['/calls/stream_query', { project_id: project, columns: ['id', 'output'], limit: 2 }],
      ['/calls/query_stats', { project_id: project }],
      ['/calls/export', { project_id: project, kinds: ['calls'] }],
      ['/views/calls', { project_id: project }],
      ['/views/columns', { project_id: project }],
      ['/agents/spans/query', { project_id: project, include_details: true }],
    ]
    const texts: string[] = []
    for (const [url, body] of bodies) {
      const { status, text } = await post(url, body)
      texts.push(`${url} ${status} ${text.replace(/"at":"[^"]*"/g, '')}`)
    }
    return texts
  }
  const before = await answers()
  assert.equal(await moveAll(database, project), 4)
  assert.equal(filesIn(folder).length, 1)
  assert.equal((await references())?.length, 3)
  assert.deepEqual(await answers(), before)
  assert.ok(before.every((text) => !text.includes('cold:')))
  assert.ok(
    before.filter((text) => / 200 /.test(text)).length >= 10,
    before.map((text) => text.slice(0, 80)).join('\n'),
  )
  assert.equal(await moveAll(database, project), 0)
})

test('cold calls: a reference that a client sends is a text', async (t) => {
  const { post, read, database } = await openWithCalls(t, [coldCall()])
  await moveAll(database, project)
  const [row] = await coldParts(database).bare.all<{ inputs: string }>(sql`SELECT inputs FROM calls`)
  const inputs = row?.inputs ?? ''
  const forged = JSON.parse(inputs) as string
  const id = randomUUID()
  const start = JSON.stringify({ start: startOf({ id, op_name: ` "${forged}"`, inputs: 'X' }) })
  assert.equal((await post('/call/start', start.replace('"X"', `{"a": ${inputs}}`))).status, 200)
  const end = JSON.stringify({ end: endOf(id, { output: 'X' }) })
  assert.equal((await post('/call/end', end.replace('"X"', inputs))).status, 200)
  const { json } = await read(id)
  assert.equal(json.call.output, forged)
  assert.equal(json.call.inputs.a, forged)
  assert.equal(json.call.op_name, ` "${forged}"`)
})

test('cold calls: a reference is shown to nobody, whatever is asked for', async (t) => {
  const { post, database } = await openWithCalls(t, [coldCall(), coldCall()])
  await moveAll(database, project)
  for (const field of ['inputs', 'output']) {
    const found = await post('/calls/stream_query', {
      project_id: project,
      query: { $expr: { $contains: { input: { $getField: field }, substr: { $literal: 'cold:' } } } },
    })
    assert.equal(found.text.trim(), '', found.text)
    const facets = await post('/views/facets', { project_id: project, fields: [field] })
    assert.ok(!facets.text.includes('cold:'), facets.text)
  }
})

test('cold calls: a preference names the model that was asked', async (t) => {
  const call = coldCall()
  const { database } = await openWithCalls(t, [call])
  const { signal } = new AbortController()
  const models = async () => [
    ...(await makersOf(boundTo(database, signal), project, { ids: [call.id], by: 'model', now: now() })),
  ]
  const before = await models()
  assert.deepEqual(before, [[call.id, 'm']])
  await moveAll(database, project)
  assert.deepEqual(await models(), before)
})

test('cold calls: conditions and sorts on a whole document read it as those on a path do', async (t) => {
  const { post, database } = await openWithCalls(t, [coldCall(), coldCall()])
  await moveAll(database, project)
  const found = async (body: object) => {
    const { status, text, headers } = await post('/calls/stream_query', { project_id: project, ...body })
    assert.equal(status, 200, text)
    assert.ok(headers['x-heddle-cold-before'], JSON.stringify(body))
    return text.split('\n').filter(Boolean).length
  }
  const conditions = (name: string) => {
    const field = { $getField: name }
    const literal = (value: unknown) => ({ $literal: value })
    return [
      { $contains: { input: field, substr: literal('cold') } },
      { $contains: { input: field, substr: literal('"') } },
      { $contains: { input: field, substr: literal('') } },
      { $eq: [field, literal('cold')] },
      { $eq: [field, literal(null)] },
      { $eq: [field, literal('')] },
      { $gt: [field, literal(' ')] },
      { $gte: [field, literal('')] },
      { $lt: [field, literal('z')] },
      { $gt: [{ $convert: { input: field, to: 'int' } }, literal(0)] },
      { $eq: [{ $convert: { input: field, to: 'exists' } }, literal(true)] },
      { $eq: [{ $convert: { input: field, to: 'string' } }, literal('')] },
      { $in: [field, [literal('a'), literal('')]] },
    ].flatMap((condition) => [condition, { $not: [condition] }])
  }
  for (const document of ['inputs', 'output']) {
    const ofPath = conditions(`${document}.some.path`)
    for (const [index, condition] of conditions(document).entries()) {
      const whole = await found({ query: { $expr: condition } })
      assert.equal(whole, await found({ query: { $expr: ofPath[index] } }), JSON.stringify(condition))
    }
    assert.equal(await found({ sort_by: [{ field: document, direction: 'desc' }] }), 2)
  }
})

test('cold calls: a part that is sent again, a span and a new derivation find the texts', async (t) => {
  const call = coldCall()
  const other = coldCall()
  const { post, read, database, references } = await openWithCalls(t, [call, other])
  const before = (await read(other.id)).json
  await moveAll(database, project)
  assert.equal((await post('/call/end', { end: endOf(call.id, { output: 'new' }) })).status, 200)
  const { json } = await read(call.id)
  assert.equal(json.call.output, 'new')
  assert.deepEqual(json.call.inputs, call.inputs)
  await database.write('deriveAgain', { project_id: project, calls: [other.id], now: 1 })
  assert.deepEqual((await read(other.id)).json, before)
  assert.deepEqual(
    (await references())?.map(({ id }) => id),
    [call.id],
  )
})

test('cold calls: a store that is gone or damaged is a named refusal, and lists go on', async (t) => {
  const call = coldCall()
  const { post, read, database, folder } = await openWithCalls(t, [call])
  await moveAll(database, project)
  const list = () => post('/views/calls', { project_id: project })
  renameSync(folder, `${folder}-away`)
  const away = await read(call.id)
  assert.equal(away.status, 503)
  assert.ok(away.headers['retry-after'])
  assert.match(away.text, /cold_store_unreachable/)
  assert.equal((await list()).status, 200)
  renameSync(`${folder}-away`, folder)
  assert.equal((await read(call.id)).status, 200)
})

test('cold calls: a query that looks into documents says which it did not look into', async (t) => {
  const call = coldCall()
  const { post, database } = await openWithCalls(t, [call])
  const asking = (query: object) =>
    post('/calls/stream_query', { project_id: project, query: { $expr: query } })
  const isOf = { $eq: [{ $getField: 'inputs.n' }, { $literal: 1.5 }] }
  const before = await asking(isOf)
  assert.equal(before.headers['x-heddle-cold-before'], undefined)
  await moveAll(database, project)
  const after = await asking(isOf)
  assert.equal(after.text, '')
  assert.equal(after.headers['x-heddle-cold-before'], '2026-01-02T03:04:05.123457Z')
  const others = await asking({ $eq: [{ $getField: 'op_name' }, { $literal: 'answer' }] })
  assert.equal(others.headers['x-heddle-cold-before'], undefined)
  const columns = await post('/views/calls', { project_id: project, columns: ['output.choices'] })
  assert.equal(columns.headers['x-heddle-cold-before'], '2026-01-02T03:04:05.123457Z')
})
