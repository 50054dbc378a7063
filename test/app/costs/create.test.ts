import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { pricesOf } from '../../support/prices.ts'

test('cost/create: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/cost/create', pricesOf({ m: {} }))
  const { post } = await openApp(t)
  for (const [costs, place, msg, type] of [
    [undefined, 'costs', 'expected record, received nothing', 'invalid_type'],
    [{}, 'costs', 'expected 1 to 1000 models, received an object', 'custom'],
    [{ m: null }, 'costs.m', 'expected object, received null', 'invalid_type'],
    [
      { 'a.b': { prompt_token_cost: 1 } },
      'costs.a.b.completion_token_cost',
      'expected number, received nothing',
      'invalid_type',
    ],
    [
      { m: { prompt_token_cost: -1, completion_token_cost: 1 } },
      'costs.m.prompt_token_cost',
      'expected number to be >=0, received -1',
      'too_small',
    ],
  ] as const) {
    const answer = await post('/cost/create', { project_id: project, costs })
    assert.equal(answer.status, 422)
    assert.equal(answer.json.reason, `The body does not fit the schema: ${place}: ${msg}.`)
    assert.equal(answer.json.code, 'invalid_request')
    assert.deepEqual(
      answer.json.detail.map((issue: { msg: string; type: string }) => [issue.msg, issue.type]),
      [[msg, type]],
    )
  }
  const body = JSON.stringify(pricesOf({ m: {}, n: {} })).replace('"n"', '"__proto__"')
  assert.deepEqual(whole(await post('/cost/create', body)), {
    status: 422,
    body: {
      reason:
        'The body does not fit the schema: costs.__proto__: expected another name of a model, received "__proto__".',
      code: 'invalid_request',
      detail: [
        {
          loc: ['body', 'costs', '__proto__'],
          msg: 'expected another name of a model, received "__proto__"',
          type: 'custom',
        },
      ],
    },
  })
  const tooMany = Object.fromEntries(Array.from({ length: 1001 }, (_, n) => [`m${n}`, {}]))
  assert.equal((await post('/cost/create', pricesOf(tooMany))).status, 422)
  assert.deepEqual(whole(await post('/cost/create', pricesOf({ m: {} }, 'globex/qa'))), {
    status: 403,
    body: {
      reason: 'Your key has no access to the entity of project_id: "globex/qa".',
      code: 'entity_forbidden',
    },
  })
})

test('cost/create: returns id and model of each price, and the prices can be read at once', async (t) => {
  const { post } = await openApp(t)
  const before = new Date(Date.now() - 1).toISOString()
  const answer = await post(
    '/cost/create',
    pricesOf({
      plain: {},
      full: {
        prompt_token_cost: 0,
        completion_token_cost: 1e-7,
        cache_read_input_token_cost: 0.5,
        cache_creation_input_token_cost: 0.25,
        prompt_token_cost_unit: 'EUR',
        completion_token_cost_unit: 'CHF',
        effective_date: '2026-01-01T00:00:00+01:00',
        provider_id: 'us',
      },
    }),
  )
  const [[first], [second]] = answer.json.ids
  assert.deepEqual(whole(answer), {
    status: 200,
    body: {
      ids: [
        [first, 'plain'],
        [second, 'full'],
      ],
    },
  })
  const { results } = (await post('/cost/query', { project_id: project })).json
  const [{ created_at }] = results
  assert.ok(Date.parse(created_at) >= Date.parse(before), created_at)
  const common = {
    project_id: project,
    created_by: 'alice',
    created_at,
    pricing_level: 'project',
    pricing_level_id: project,
  }
  assert.deepEqual(results, [
    {
      ...common,
      id: first,
      llm_id: 'plain',
      provider_id: 'default',
      prompt_token_cost: 0.001,
      completion_token_cost: 0.002,
      cache_read_input_token_cost: 0,
      cache_creation_input_token_cost: 0,
      prompt_token_cost_unit: 'USD',
      completion_token_cost_unit: 'USD',
      effective_date: created_at,
    },
    {
      ...common,
      id: second,
      llm_id: 'full',
      provider_id: 'us',
      prompt_token_cost: 0,
      completion_token_cost: 1e-7,
      cache_read_input_token_cost: 0.5,
      cache_creation_input_token_cost: 0.25,
      prompt_token_cost_unit: 'EUR',
      completion_token_cost_unit: 'CHF',
      effective_date: '2025-12-31T23:00:00Z',
    },
  ])
})

test('cost/create: null is the same as absent', async (t) => {
  const { post } = await openApp(t)
  const absent = Object.fromEntries(
    'cache_read_input_token_cost cache_creation_input_token_cost prompt_token_cost_unit completion_token_cost_unit effective_date provider_id'
      .split(' ')
      .map((name) => [name, null]),
  )
  await post('/cost/create', pricesOf({ plain: {}, absent }))
  const { results } = (await post('/cost/query', { project_id: project })).json
  assert.equal(results.length, 2)
  const [plain, other] = results
  assert.deepEqual(
    { ...other, effective_date: plain.effective_date },
    { ...plain, id: other.id, llm_id: 'absent' },
  )
})

test('cost/create: a model may have several prices, and each project has its own', async (t) => {
  const { post } = await openApp(t)
  await post('/cost/create', pricesOf({ m: {} }))
  await post('/cost/create', pricesOf({ m: {} }))
  await post('/cost/create', pricesOf({ m: {} }, 'acme/other'))
  await post('/cost/create', pricesOf({ m: {} }, 'globex/qa'), keys.bob)
  const { results } = (await post('/cost/query', { project_id: project })).json
  assert.deepEqual(
    results.map((price: { llm_id: string; project_id: string }) => [price.project_id, price.llm_id]),
    [
      [project, 'm'],
      [project, 'm'],
    ],
  )
})
