import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp, type TestApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { pricesOf } from '../../support/prices.ts'

const shown =
  'id, project_id, llm_id, provider_id, prompt_token_cost_unit, completion_token_cost_unit, created_by, prompt_token_cost, completion_token_cost, cache_read_input_token_cost, cache_creation_input_token_cost, effective_date, created_at'

test('cost/query: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/cost/query', { project_id: project })
  const { post } = await openApp(t)
  for (const [body, status, answer] of [
    [
      { offset: -1 },
      422,
      {
        reason: 'The body does not fit the schema: offset: expected number to be >=0, received -1.',
        code: 'invalid_request',
        detail: [
          { loc: ['body', 'offset'], msg: 'expected number to be >=0, received -1', type: 'too_small' },
        ],
      },
    ],
    [
      { project_id: 'globex/qa' },
      403,
      {
        reason: 'Your key has no access to the entity of project_id: "globex/qa".',
        code: 'entity_forbidden',
      },
    ],
    [
      { fields: ['id', 'colour'] },
      422,
      {
        reason: `fields.1: there is no field "colour"; accepted: ${shown}, pricing_level, pricing_level_id.`,
        code: 'unknown_field',
      },
    ],
    [
      { sort_by: [{ field: 'colour', direction: 'asc' }] },
      422,
      { reason: `sort_by.0.field: there is no field "colour"; accepted: ${shown}.`, code: 'unknown_field' },
    ],
    [
      { query: { $expr: { $eq: [{ $getField: 'colour' }, { $literal: 'red' }] } } },
      422,
      { reason: `query: there is no field "colour"; accepted: ${shown}.`, code: 'unknown_field' },
    ],
    [
      { query: { $expr: { $near: [] } } },
      422,
      {
        reason:
          'query.$expr: has the unknown operator "$near"; accepted: an object with one of $and, $or, $not, $eq, $gt, $gte, $lt, $lte, $in, $contains, $convert.',
        code: 'invalid_expression',
      },
    ],
  ] as [object, number, object][]) {
    assert.deepEqual(whole(await post('/cost/query', { project_id: project, ...body })), {
      status,
      body: answer,
    })
  }
})

test('cost/query: a project without prices returns none', async (t) => {
  const { post } = await openApp(t)
  await post('/cost/create', pricesOf({ m: {} }, 'globex/qa'), keys.bob)
  assert.deepEqual(whole(await post('/cost/query', { project_id: project })), {
    status: 200,
    body: { results: [] },
  })
})

async function storePrices(post: TestApp['post']): Promise<void> {
  const { status } = await post(
    '/cost/create',
    pricesOf({
      a: { prompt_token_cost: 3, effective_date: '2026-01-02', provider_id: 'x' },
      b: { prompt_token_cost: 1, effective_date: '2026-01-03', provider_id: 'y' },
      c: { prompt_token_cost: 10, effective_date: '2026-01-01', provider_id: 'x' },
    }),
  )
  assert.equal(status, 200)
}

const eq = (field: string, value: unknown) => ({ $eq: [{ $getField: field }, { $literal: value }] })
const sort = (field: string, direction = 'asc') => ({ sort_by: [{ field, direction }] })

/** Shared by the cases, which only read. */
const { post: ask } = await openApp({ after })
await storePrices(ask)

for (const [body, expected] of [
  [{}, 'abc'],
  [{ query: null, sort_by: null, limit: null, offset: null }, 'abc'],
  [{ query: { $expr: eq('llm_id', 'b') } }, 'b'],
  [{ query: { $expr: eq('provider_id', 'x') } }, 'ac'],
  [{ query: { $expr: eq('created_by', 'bob') } }, ''],
  [{ query: { $expr: { $gt: [{ $getField: 'prompt_token_cost' }, { $literal: 2 }] } } }, 'ac'],
  [{ query: { $expr: { $gte: [{ $getField: 'effective_date' }, { $literal: '2026-01-02' }] } } }, 'ab'],
  [{ query: { $expr: { $or: [eq('llm_id', 'a'), eq('llm_id', 'c')] } } }, 'ac'],
  [sort('prompt_token_cost'), 'bac'],
  [sort('prompt_token_cost', 'desc'), 'cab'],
  [sort('effective_date'), 'cab'],
  [sort('llm_id', 'desc'), 'cba'],
  [
    {
      sort_by: [
        { field: 'provider_id', direction: 'desc' },
        { field: 'llm_id', direction: 'desc' },
      ],
    },
    'bca',
  ],
  [{ limit: 2 }, 'ab'],
  [{ limit: 2, offset: 2 }, 'c'],
  [{ offset: 1 }, 'bc'],
  [{ offset: 3 }, ''],
  [{ ...sort('llm_id', 'desc'), limit: 1, query: { $expr: eq('provider_id', 'x') } }, 'c'],
] as [object, string][]) {
  test(`cost/query: ${JSON.stringify(body)}`, async () => {
    const answer = await ask('/cost/query', { project_id: project, fields: ['llm_id'], ...body })
    assert.deepEqual(whole(answer), {
      status: 200,
      body: { results: [...expected].map((llm_id) => ({ llm_id })) },
    })
  })
}

test('cost/query: returns the requested fields, in the requested order', async (t) => {
  const { post } = await openApp(t)
  await storePrices(post)
  const ask = async (fields: string[] | null) =>
    (await post('/cost/query', { project_id: project, limit: 1, fields })).text
  assert.equal(
    await ask(['pricing_level_id', 'effective_date', 'prompt_token_cost', 'pricing_level']),
    '{"results":[{"pricing_level_id":"acme/qa","effective_date":"2026-01-02T00:00:00Z","prompt_token_cost":3,"pricing_level":"project"}]}',
  )
  assert.equal(await ask([]), await ask(null))
})

test('at most 10,000 prices are returned at once, whatever the limit', async (t) => {
  const { post } = await openApp(t)
  for (let n = 0; n < 11; n++) {
    const models = Array.from({ length: 1000 }, (_, i) => [`m${n}-${i}`, {}])
    assert.equal((await post('/cost/create', pricesOf(Object.fromEntries(models)))).status, 200)
  }
  for (const limit of [null, 10_001, 1e9]) {
    const { json } = await post('/cost/query', { project_id: project, fields: ['id'], limit })
    assert.equal(json.results.length, 10_000)
  }
})
