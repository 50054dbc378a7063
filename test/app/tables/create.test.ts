// In a process of its own: it measures how long the event loop is held.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createFromDigests } from '../../../src/operations/tables/create.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { loopTurnsUntil, yieldAtEachStep } from '../../support/event-loop.ts'
import { refusedWith } from '../../support/refusals.ts'
import { createTable, rowsOf } from '../../support/tables.ts'

/** Shared by all tests; each uses data of its own. */
const opened = await openApp({ after })
const { post, database } = opened

const one = 'YTYlqmU0Pbsbmr5qusZ3P1yRvWDT8vX34urmnh24sic'
const two = 'JPVyYA4VDTIwE4OFqgAGyhuZO0a7Qn90bMaQyY2TJBM'
const both = 'ed8bd1f8cb829eeb6b3fef95a7cd8401f7e5af825c4c9aa144a1ceb9f32c3654'
const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

const tableOf = (rows: unknown, fields: Record<string, unknown> = {}) => ({
  table: { project_id: project, rows, ...fields },
})

test('table/create: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/table/create', tableOf([{ x: 1 }]))
  for (const [rows, place, msg] of [
    [undefined, 'table.rows', 'expected array, received nothing'],
    [{}, 'table.rows', 'expected array, received object'],
    [[{}, 5], 'table.rows.1', 'expected an object, received 5'],
    [[{}, {}, null], 'table.rows.2', 'expected an object, received null'],
    [[[]], 'table.rows.0', 'expected an object, received a list'],
  ] as const) {
    const answer = await post('/table/create', tableOf(rows))
    assert.equal(answer.status, 422)
    assert.equal(answer.json.reason, `The body does not fit the schema: ${place}: ${msg}.`)
  }
  assert.deepEqual(whole(await post('/table/create', tableOf([], { project_id: 'globex/qa' }))), {
    status: 403,
    body: {
      reason: 'Your key has no access to the entity of table.project_id: "globex/qa".',
      code: 'entity_forbidden',
    },
  })
  assert.deepEqual(whole(await post('/table/create', tableOf([{ x: 1 }], { expected_digest: both }))), {
    status: 409,
    body: {
      reason: `table.expected_digest: "${both}" was expected, but the digest is 539a1848ed6bafc975ae564c2c8ff56e46a870ab20753cfc9a4ef58f231fb0a9. Nothing was stored.`,
      code: 'digest_differs',
    },
  })
})

test('table/create: returns the digest of each row and of the table', async () => {
  const rows = [{ x: 1 }, { x: 2 }]
  for (const fields of [{}, { expected_digest: both }, { expected_digest: null }]) {
    assert.deepEqual(whole(await post('/table/create', tableOf(rows, fields))), {
      status: 200,
      body: { digest: both, row_digests: [one, two] },
    })
  }
  assert.deepEqual(whole(await post('/table/create', tableOf([]))).body, { digest: empty, row_digests: [] })
})

test('table/create: keeps the order of rows and their duplicates', async () => {
  const rows = [{ x: 2 }, { x: 1 }, { x: 2 }, {}, { x: 2 }]
  const { digest, row_digests } = await createTable(opened, rows)
  assert.deepEqual([row_digests[0], row_digests[2], row_digests[4]], [two, two, two])
  assert.deepEqual(await rowsOf(opened, digest), rows)
  const other = await createTable(opened, rows.toReversed())
  assert.notEqual(other.digest, digest)
  assert.deepEqual(await rowsOf(opened, other.digest), rows.toReversed())
})

test('table/create: keeps the digits of numbers', async () => {
  const text = `{"table":{"project_id":"${project}","rows":[{"a":1.0},{"a":9007199254740993},{"a":1E2}]}}`
  const { digest } = (await post('/table/create', text)).json
  const { text: found } = await post('/table/query', { project_id: project, digest })
  assert.deepEqual(
    [...found.matchAll(/"val":(\{[^}]*\})/g)].map(([, val]) => val),
    ['{"a":1.0}', '{"a":9007199254740993}', '{"a":1E2}'],
  )
})

test('table/create: of rows with the same digest the first one is kept', async () => {
  const rowsAs = async (rows: string) => {
    const body = `{"table":{"project_id":"${project}","rows":[${rows}]}}`
    const { digest } = (await opened.post('/table/create', body)).json
    return (await opened.post('/table/query', { project_id: project, digest })).text.match(/"val":\{[^}]*\}/g)
  }
  const first = '"val":{"n":1e400}'
  assert.deepEqual(await rowsAs('{"n":1e400},{"n":1e500},{"n":1}'), [first, first, '"val":{"n":1}'])
  assert.deepEqual(await rowsAs('{"n":1e600}'), [first])
})

test('table/create: stores a long table with many equal rows', async () => {
  const rows = Array.from({ length: 10_000 }, (_, n) => ({ n: n % 7000, text: `row ${n % 7000}` }))
  const { digest, row_digests } = await createTable(opened, rows)
  assert.equal(row_digests.length, rows.length)
  assert.deepEqual(await rowsOf(opened, digest), rows)
  assert.deepEqual(await createTable(opened, rows), { digest, row_digests })
})

test('table/create: validates a long table like a short one', async () => {
  const rows: unknown[] = Array.from({ length: 5000 }, (_, n) => ({ n, text: 'x'.repeat(100) }))
  for (const [body, place] of [
    [tableOf(rows.with(4321, 5)), 'table.rows.4321'],
    [tableOf(rows, { project_id: 'acme' }), 'table.project_id'],
    [tableOf(rows, { expected_digest: 5 }), 'table.expected_digest'],
    [{ table: [rows] }, 'table'],
    [{ rows }, 'table'],
  ] as const) {
    const { status, json } = await post('/table/create', body)
    assert.equal(status, 422)
    assert.ok(json.reason.startsWith(`The body does not fit the schema: ${place}: `), json.reason)
  }
  const text = JSON.stringify(tableOf(rows))
  const last = await post('/table/create', text.replace('{"table":', '{"table":5,"table":'))
  assert.equal(last.status, 200, 'when a field is given twice the last one counts')
  const twice = await post('/table/create', text.replace('"rows":', '"rows":[{"n":1}],"rows":'))
  assert.deepEqual(twice.json, last.json)
  assert.equal((await post('/table/create', text.replace('"n":17', '"n":'))).status, 400)
  assert.equal((await post('/table/create', text.replace('},{"n":17', '} {"n":17'))).status, 400)
  assert.equal((await post('/table/create', text.replace('"n":17', `"n":${'['.repeat(300)}`))).status, 413)
})

test('table/create_from_digests: makes a table of rows that the project has', async (t) => {
  const { post } = opened
  await assertCommonRefusals(t, '/table/create_from_digests', { project_id: project, row_digests: [] })
  await createTable(opened, [{ x: 1 }, { x: 2 }])
  const from = (row_digests: string[], fields: Record<string, unknown> = {}) => ({
    project_id: project,
    row_digests,
    ...fields,
  })
  const made = await post('/table/create_from_digests', from([two, one, two]))
  assert.equal(made.status, 200)
  assert.deepEqual(await rowsOf(opened, made.json.digest), [{ x: 2 }, { x: 1 }, { x: 2 }])
  assert.deepEqual(whole(await post('/table/create_from_digests', from([one, two]))).body, { digest: both })
  assert.deepEqual(whole(await post('/table/create_from_digests', from([]))).body, { digest: empty })
  assert.deepEqual(whole(await post('/table/create_from_digests', from([one, 'none', two]))), {
    status: 404,
    body: {
      reason: `row_digests.1: there is no table row "none" in project "${project}".`,
      code: 'row_not_found',
    },
  })
  const differs = await post('/table/create_from_digests', from([one], { expected_digest: both }))
  assert.deepEqual([differs.status, differs.json.code], [409, 'digest_differs'])
  const theirs = { project_id: 'globex/qa', row_digests: [one] }
  assert.equal((await post('/table/create_from_digests', theirs)).status, 403)
  assert.equal((await post('/table/create_from_digests', theirs, keys.bob)).status, 404)
})

test('table/create_from_digests: yields to other requests, and stops when the client disconnects', async (t) => {
  const caller = { name: 'alice', role: 'member', entities: new Set(['acme']) } as const
  const row_digests = Array.from({ length: 1000 }, (_, n) => `digest ${n}`)
  const leaving = new AbortController()
  const making = () =>
    createFromDigests(boundTo(database, leaving.signal), caller, { project_id: project, row_digests })
  yieldAtEachStep(t)
  const refused = making()
  const turns = loopTurnsUntil(refused)
  await assert.rejects(refused, refusedWith('row_not_found'))
  assert.ok((await turns) >= row_digests.length)
  leaving.abort(new Error('gone'))
  await assert.rejects(making(), /gone/)
})
