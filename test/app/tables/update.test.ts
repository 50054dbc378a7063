// In a process of its own: it measures how long the event loop is held.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { digestOfJson, digestOfTable } from '../../../src/domain/digests.ts'
import { JsonText } from '../../../src/domain/json/text.ts'
import { updateTable } from '../../../src/operations/tables/update.ts'
import type { Database } from '../../../src/storage/database.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { yieldAtEachStep } from '../../support/event-loop.ts'
import { createTable, rowsOf } from '../../support/tables.ts'

/** Shared by all tests; each uses data of its own. */
const opened = await openApp({ after })

const row = (x: number) => ({ x })
const digestOf = (x: number) => digestOfJson(JSON.stringify(row(x)))
const update = (base_digest: string, updates: unknown[], fields: Record<string, unknown> = {}) => ({
  project_id: project,
  base_digest,
  updates,
  ...fields,
})

test('table/update: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/table/update', update('x', []))
  const { post } = opened
  for (const [updates, place, msg] of [
    [[{}], 'updates.0', 'expected an object with append, pop or insert, received an object'],
    [[5], 'updates.0', 'expected an object with append, pop or insert, received 5'],
    [[{ append: {} }], 'updates.0.append.row', 'expected an object, received nothing'],
    [
      [{ pop: { index: 0 } }, { append: { row: 5 } }],
      'updates.1.append.row',
      'expected an object, received 5',
    ],
    [[{ insert: { index: 'x', row: {} } }], 'updates.0.insert.index', 'expected number, received "x"'],
    [[{ pop: { index: 0.5 } }], 'updates.0.pop.index', 'expected int, received 0.5'],
    [
      [{ pop: { index: 0 }, append: { row: row(1) } }],
      'updates.0',
      'expected one of append, pop and insert, received append and pop.',
    ],
    [
      [{ append: { row: row(1) } }, { insert: 5, append: { row: row(1) }, pop: null }],
      'updates.1',
      'expected one of append, pop and insert, received append and insert.',
    ],
  ] as const) {
    const answer = await post('/table/update', update('x', [...updates]))
    assert.equal(answer.status, 422)
    assert.equal(
      answer.json.reason.split(' received ')[0],
      `The body does not fit the schema: ${place}: ${msg.split(' received ')[0]}`,
    )
  }
  assert.deepEqual(whole(await post('/table/update', update('none', []))), {
    status: 404,
    body: {
      reason: `base_digest: there is no table "none" in project "${project}".`,
      code: 'table_not_found',
    },
  })
  const { digest } = await createTable(opened, [row(1)])
  for (const [updates, reason] of [
    [[{ pop: { index: 1 } }], 'updates.0.pop.index: 1; accepted: 0 to 0.'],
    [[{ pop: { index: -1 } }], 'updates.0.pop.index: -1; accepted: 0 to 0.'],
    [[{ insert: { index: 2, row: {} } }], 'updates.0.insert.index: 2; accepted: 0 to 1.'],
    [
      [{ pop: { index: 0 } }, { pop: { index: 0 } }],
      'updates.1.pop.index: 0; accepted: none, because the table is then empty.',
    ],
  ] as const) {
    assert.deepEqual(whole(await post('/table/update', update(digest, [...updates]))), {
      status: 400,
      body: { reason, code: 'invalid_value' },
    })
  }
  const theirs = update(digest, [], { project_id: 'globex/qa' })
  assert.equal((await post('/table/update', theirs)).status, 403)
  assert.equal((await post('/table/update', theirs, keys.bob)).status, 404)
})

test('table/update: an update may set the other two kinds of update to null', async () => {
  const { digest } = await createTable(opened, [row(1)])
  const changes = [
    { append: { row: row(2) }, pop: null, insert: null },
    { pop: { index: 0 }, append: null },
  ]
  const { status, json } = await opened.post('/table/update', update(digest, changes))
  assert.equal(status, 200)
  assert.deepEqual(await rowsOf(opened, json.digest), [row(2)])
})

test('table/update: each update applies to the result of the one before', async () => {
  const base = await createTable(opened, [row(1), row(2), row(3)])
  const answer = await opened.post(
    '/table/update',
    update(base.digest, [
      { pop: { index: 1 } },
      { insert: { index: 0, row: row(9) } },
      { append: { row: row(1) } },
      { pop: { index: 1 } },
    ]),
  )
  const order = [9, 3, 1]
  assert.deepEqual(whole(answer), {
    status: 200,
    body: {
      digest: await digestOfTable(order.map(digestOf)),
      updated_row_digests: [2, 9, 1, 1].map(digestOf),
    },
  })
  assert.deepEqual(await rowsOf(opened, answer.json.digest), order.map(row))
  assert.deepEqual(await rowsOf(opened, base.digest), [1, 2, 3].map(row), 'the base table is unchanged')
})

test('table/update: a table may become empty, stay the same, or start from an empty one', async () => {
  const base = await createTable(opened, [row(1)])
  const emptied = (await opened.post('/table/update', update(base.digest, [{ pop: { index: 0 } }]))).json
  assert.deepEqual(await rowsOf(opened, emptied.digest), [])
  const back = (await opened.post('/table/update', update(emptied.digest, [{ append: { row: row(1) } }])))
    .json
  assert.equal(back.digest, base.digest)
  const same = (await opened.post('/table/update', update(base.digest, []))).json
  assert.deepEqual(same, { digest: base.digest, updated_row_digests: [] })
})

test('table/update: applies many updates to a long table', async () => {
  const base = await createTable(
    opened,
    Array.from({ length: 5000 }, (_, n) => row(n)),
  )
  const updates = Array.from({ length: 1000 }, (_, n) => ({ append: { row: row(10_000 + n) } }))
  const answer = (await opened.post('/table/update', update(base.digest, updates))).json
  assert.equal(answer.updated_row_digests.length, 1000)
  const rows = await rowsOf(opened, answer.digest)
  assert.deepEqual([rows.length, rows[4999], rows[5999]], [6000, row(4999), row(10_999)])
})

test('table/update: stops when the client disconnects before the table is written', async (t) => {
  const base = await createTable(opened, [row(1)])
  const { database } = opened
  const leaving = new AbortController()
  const written: string[] = []
  const watched: Database = {
    ...database,
    write(name, input) {
      written.push(name)
      return database.write(name, input)
    },
    async *stream(statement, options) {
      yield* database.stream(statement, options)
      leaving.abort(new Error('gone'))
    },
  }
  yieldAtEachStep(t)
  const body = {
    project_id: project,
    base_digest: base.digest,
    updates: [{ insert: { index: 0, row: { digest: 'd', val: new JsonText('{"x":2}') } } }],
  }
  const caller = { name: 'alice', role: 'member', entities: new Set(['acme']) } as const
  await assert.rejects(updateTable(boundTo(watched, leaving.signal), caller, body), /gone/)
  assert.deepEqual(written, [])
})
