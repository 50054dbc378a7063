import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { completeOf, project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'

const url = '/views/columns'
const shared = await openApp({ after })

test('views/columns: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, url, { project_id: project })
  for (const [body, status, code] of [
    [{ sample: 0 }, 422, 'invalid_request'],
    [{ project_id: 'globex/qa' }, 403, 'entity_forbidden'],
  ] as const) {
    const answer = await shared.post(url, { project_id: project, ...body })
    assert.deepEqual([answer.status, answer.json.code], [status, code], answer.text)
  }
})

const given = [
  { inputs: { question: 'a', user: { name: 'x', 'e.mail': 'y' } }, output: 'plain' },
  { inputs: { question: 'b', n: 1 }, output: { score: 0.5 } },
  { inputs: { question: null, n: 1.0, deep: { a: { b: { c: { d: 1 } } } } }, output: { score: 1 } },
  { inputs: { question: 'a', n: 1, list: [{ hidden: 1 }] }, output: null },
]

async function stored(t: Parameters<typeof openApp>[0]) {
  const app = await openApp(t)
  const batch = given.map((one, n) =>
    completeOf({ ...one, attributes: {}, summary: {}, started_at: `2026-01-02T03:04:0${n}Z` }),
  )
  const { status, text } = await app.post('/v2/acme/qa/calls/complete', { batch })
  assert.equal(status, 200, text)
  return app
}

test('columns are listed with their types and the number of calls that have them', async (t) => {
  const { post } = await stored(t)
  const { json } = await post(url, { project_id: project })
  assert.deepEqual([json.sampled, json.others, json.too_large], [4, 0, 0])
  const columns = new Map(json.columns.map(({ field, ...rest }: { field: string }) => [field, rest]))
  assert.deepEqual(columns.get('inputs.question'), { count: 4, types: { string: 3, null: 1 } })
  assert.deepEqual(columns.get('inputs.n'), { count: 3, types: { number: 3 } })
  assert.deepEqual(columns.get('inputs.user'), { count: 1, types: { object: 1 } })
  assert.deepEqual(columns.get('inputs.user.e\\.mail'), { count: 1, types: { string: 1 } })
  assert.deepEqual(columns.get('inputs.list'), { count: 1, types: { list: 1 } })
  assert.deepEqual(columns.get('output'), { count: 1, types: { string: 1 } })
  assert.deepEqual(columns.get('output.score'), { count: 2, types: { number: 2 } })
  assert.ok(!columns.has('inputs.list.hidden') && !columns.has('inputs.deep.a.b.c.d'))
  // Each field can be requested.
  const fields = json.columns.map(({ field }: { field: string }) => field)
  for (const field of fields.filter((one: string) => one.includes('.'))) {
    const asked = await post('/views/facets', { project_id: project, fields: [field] })
    assert.equal(asked.status, 200, asked.text)
  }
  const newest = await post(url, { project_id: project, sample: 1 })
  assert.equal(newest.json.sampled, 1)
})

test('names that no path can express are left out, and the number of columns is bounded', async (t) => {
  const { post } = await openApp(t)
  const many = Object.fromEntries(Array.from({ length: 90 }, (_, n) => [`key ${n}`, { a: 1, b: 2, c: n }]))
  const inputs = { '': 1, 'a\\': 1, ['x'.repeat(2000)]: 1, good: 1, ...many }
  await post('/v2/acme/qa/calls/complete', {
    batch: [completeOf({ inputs }), completeOf({ inputs: { large: 'x'.repeat(70_000) } })],
  })
  const { json } = await post(url, { project_id: project })
  assert.equal(json.columns.length, 200)
  assert.ok(json.others > 0)
  assert.equal(json.too_large, 1)
})

test('values inside calls can be facets and columns of the list', async (t) => {
  const { post } = await stored(t)
  const { json } = await post('/views/facets', {
    project_id: project,
    fields: ['inputs.question', 'inputs.n'],
  })
  assert.deepEqual(json.facets, [
    {
      field: 'inputs.question',
      values: [
        { value: '"a"', count: 2 },
        { value: '"b"', count: 1 },
        { value: 'null', count: 1 },
      ],
      others: 0,
      sampled: 4,
    },
    {
      field: 'inputs.n',
      values: [
        { value: '1', count: 3 },
        { value: null, count: 1 },
      ],
      others: 0,
      sampled: 4,
    },
  ])
  const listed = await post('/views/calls', {
    project_id: project,
    columns: ['inputs.question', 'output.score'],
    limit: 2,
  })
  assert.deepEqual(
    listed.json.calls.map(({ values }: { values: unknown }) => values),
    [
      ['"a"', null],
      ['null', '1'],
    ],
  )
  for (const body of [{ columns: ['op_name'] }, { columns: Array(9).fill('inputs.a') }]) {
    assert.equal((await post('/views/calls', { project_id: project, ...body })).status, 422)
  }
  for (const name of ['status', 'latency_ms', 'trace_name', 'other']) {
    const fields = [`summary.weave.${name}`]
    for (const [url, body] of [
      ['/views/calls', { columns: fields }],
      ['/views/facets', { fields }],
    ] as const) {
      const { status, json } = await post(url, { project_id: project, ...body })
      assert.deepEqual([status, json.code], [422, 'invalid_request'], `${url} ${name}`)
    }
  }
})

test('the model of a call is a field, whether it comes from its inputs or its usage', async (t) => {
  const { post } = await openApp(t)
  await post('/v2/acme/qa/calls/complete', {
    batch: [
      completeOf({ inputs: { model: 'asked' }, summary: {} }),
      completeOf({ inputs: {}, summary: { usage: { used: { prompt_tokens: 3 } } } }),
    ],
  })
  for (const [field, value] of [
    ['model', 'asked'],
    ['model', 'used'],
    ['input_tokens', 3],
  ] as const) {
    const query = { $expr: { $eq: [{ $getField: field }, { $literal: value }] } }
    const { json } = await post('/views/calls', { project_id: project, query })
    assert.equal(json.calls.length, 1, field)
  }
})
