import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { recordsOf, whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { endedRecord, endOf, project, runningRecord, startOf } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'

/** Shared by all tests; each uses data of its own. */
const { post } = await openApp({ after })

const start = (fields: Record<string, unknown> = {}) => ({ mode: 'start', req: { start: startOf(fields) } })
const end = (id: string, fields: Record<string, unknown> = {}) => ({
  mode: 'end',
  req: { end: endOf(id, fields) },
})

test('call/upsert_batch: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/call/upsert_batch', { batch: [start()] })
  assert.deepEqual(whole(await post('/call/upsert_batch', { batch: [start(), { mode: 'stop', req: {} }] })), {
    status: 422,
    body: {
      reason: "The body does not fit the schema: batch.1.mode: expected 'start' | 'end', received \"stop\".",
      code: 'invalid_request',
      detail: [
        {
          loc: ['body', 'batch', 1, 'mode'],
          msg: "expected 'start' | 'end', received \"stop\"",
          type: 'invalid_union',
        },
      ],
    },
  })
  const foreign = [start(), end(startOf().id, { project_id: 'globex/qa' })]
  assert.deepEqual(whole(await post('/call/upsert_batch', { batch: foreign })), {
    status: 403,
    body: {
      reason: 'Your key has no access to the entity of batch.1.req.end.project_id: "globex/qa".',
      code: 'entity_forbidden',
    },
  })
  assert.deepEqual(whole(await post('/call/upsert_batch', { batch: [start({ project_id: 'globex/qa' })] })), {
    status: 403,
    body: {
      reason: 'Your key has no access to the entity of batch.0.req.start.project_id: "globex/qa".',
      code: 'entity_forbidden',
    },
  })
})

test('call/upsert_batch: returns one result per item, in order', async () => {
  const [one, two] = [startOf().id, startOf().id]
  const batch = [
    start({ id: one }),
    end(one),
    end(two),
    start({ id: two, parent_id: one, trace_id: one }),
    start({ id: null }),
  ]
  const answer = await post('/call/upsert_batch', { batch })
  const made = answer.json.res[4].id
  assert.deepEqual(whole(answer), {
    status: 200,
    body: {
      res: [{ id: one, trace_id: one }, {}, {}, { id: two, trace_id: one }, { id: made, trace_id: made }],
    },
  })
  const child = { parent_id: one, trace_id: one }
  for (const [id, expected] of [
    [one, endedRecord(one)],
    [two, endedRecord(two, child)],
    [made, runningRecord(made)],
  ] as const) {
    const read = await post('/call/read', { project_id: project, id })
    assert.deepEqual(read.json.call, expected)
  }
})

test('call/upsert_batch: an empty batch is accepted', async () => {
  assert.deepEqual(whole(await post('/call/upsert_batch', { batch: [] })), {
    status: 200,
    body: { res: [] },
  })
})

test('call/upsert_batch: a child may be complete before its parent starts', async () => {
  const [parent, child] = [startOf().id, startOf().id]
  const family = { trace_id: parent, parent_id: parent }
  await post('/call/upsert_batch', { batch: [start({ id: child, ...family }), end(child)] })
  const alone = await post('/call/read', { project_id: project, id: child })
  assert.deepEqual(alone.json.call, endedRecord(child, family))
  await post('/call/upsert_batch', { batch: [start({ id: parent }), end(parent)] })
  const read = await post('/call/read', { project_id: project, id: parent })
  assert.deepEqual(read.json.call, endedRecord(parent))
})

test('call/upsert_batch: the parts of a call may arrive in any order and in any batches', async () => {
  const parts = [['start'], ['end'], ['start', 'end'], ['end', 'start']]
  for (const first of parts) {
    for (const second of parts) {
      const { id } = startOf()
      const batches = [first, second].map((batch) =>
        batch.map((part) => (part === 'start' ? start({ id }) : end(id))),
      )
      for (const batch of batches) {
        assert.equal((await post('/call/upsert_batch', { batch })).status, 200)
      }
      const read = await post('/call/read', { project_id: project, id })
      const kinds = new Set([...first, ...second])
      if (!kinds.has('start')) assert.equal(read.status, 404)
      else assert.deepEqual(read.json.call, kinds.has('end') ? endedRecord(id) : runningRecord(id))
    }
  }
})

test('call/upsert_batch: a repeated batch changes nothing', async (t) => {
  const { post } = await openApp(t)
  const [one, two] = [startOf().id, startOf().id]
  const batch = [
    start({ id: one, display_name: 'one' }),
    end(one, { summary: { usage: { m: { requests: 1 } } } }),
    start({ id: two, parent_id: one, trace_id: one }),
  ]
  const answers = []
  const records = []
  for (let time = 0; time < 3; time++) {
    answers.push(whole(await post('/call/upsert_batch', { batch })))
    records.push(recordsOf(await post('/calls/stream_query', { project_id: project })))
  }
  assert.equal(records[0]?.length, 2)
  assert.deepEqual(answers[1], answers[0])
  assert.deepEqual(answers[2], answers[0])
  assert.deepEqual(records[1], records[0])
  assert.deepEqual(records[2], records[0])
})

test('call/upsert_batch: a repeated batch does not undo a rename', async () => {
  for (const named of [{}, { display_name: 'sent' }]) {
    const { id } = startOf()
    const batch = [start({ id, ...named }), end(id, named)]
    await post('/call/upsert_batch', { batch })
    await post('/call/update', { project_id: project, call_id: id, display_name: 'renamed' })
    await post('/call/upsert_batch', { batch })
    const read = await post('/call/read', { project_id: project, id })
    assert.equal(read.json.call.display_name, 'renamed')
  }
})

test('call/upsert_batch: later parts of a batch replace earlier ones', async () => {
  const { id } = startOf()
  const batch = [
    start({ id, inputs: { n: 1 }, thread_id: 'a' }),
    end(id, { output: 1, exception: 'Error' }),
    end(id, { output: 2 }),
    start({ id, inputs: { n: 2 } }),
  ]
  await post('/call/upsert_batch', { batch })
  const read = await post('/call/read', { project_id: project, id })
  assert.deepEqual(read.json.call, endedRecord(id, { inputs: { n: 2 }, output: 2 }))
})

test('call/upsert_batch: one refused item leaves the whole batch unwritten', async () => {
  const { id } = startOf()
  for (const bad of [start({ project_id: 'globex/qa' }), start({ op_name: '' }), { mode: 'start' }]) {
    const { status } = await post('/call/upsert_batch', { batch: [start({ id }), end(id), bad] })
    assert.ok(status === 403 || status === 422, String(status))
    assert.equal((await post('/call/read', { project_id: project, id })).status, 404)
  }
})

test('call/upsert_batch: a batch may contain several projects', async () => {
  const { id } = startOf()
  const projects = ['acme/one', 'acme/two', 'globex/one']
  const batch = projects.map((project_id, n) => start({ id, project_id, inputs: { n } }))
  assert.equal((await post('/call/upsert_batch', { batch }, keys.root)).status, 200)
  for (const [n, project_id] of projects.entries()) {
    const read = await post('/call/read', { project_id, id }, keys.root)
    const expected = runningRecord(id, { project_id, inputs: { n }, svc_user_id: 'root' })
    assert.deepEqual(read.json.call, expected)
  }
})

test('call/upsert_batch: a long batch is stored whole, and an invalid item in it is found', async (t) => {
  const { post } = await openApp(t)
  const filling = 'x'.repeat(2000)
  const ids = Array.from({ length: 250 }, () => startOf().id)
  const batch: unknown[] = ids.flatMap((id, n) => [
    start({ id, inputs: { n, filling } }),
    end(id, { output: [n] }),
  ])
  const answer = await post('/call/upsert_batch', { batch })
  assert.deepEqual(whole(answer), {
    status: 200,
    body: { res: ids.flatMap((id) => [{ id, trace_id: id }, {}]) },
  })
  const stored = recordsOf(
    await post('/calls/stream_query', {
      project_id: project,
      sort_by: [{ field: 'inputs.n', direction: 'asc' }],
      include_usernames: true,
    }),
  )
  assert.deepEqual(
    stored,
    ids.map((id, n) => endedRecord(id, { inputs: { n, filling }, output: [n] })),
  )
  batch[321] = end(ids[0] as string, { ended_at: 'late' })
  const refused = await post('/call/upsert_batch', { batch })
  assert.equal(refused.status, 422)
  assert.deepEqual(refused.json.detail, [
    {
      loc: ['body', 'batch', 321, 'req', 'end', 'ended_at'],
      msg: 'expected a date-time such as 2026-01-31T12:00:00Z, received "late"',
      type: 'custom',
    },
  ])
})
