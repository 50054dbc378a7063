import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { costsOf, priceOf } from '../../src/operations/calls/costs.ts'
import type { Price } from '../../src/storage/prices.ts'

function price(fields: Partial<Price> = {}): Price {
  return {
    project_id: 'acme/qa',
    id: 'p',
    llm_id: 'm',
    provider_id: 'default',
    effective_date: 0,
    prompt_token_cost: 1,
    completion_token_cost: 10,
    cache_read_input_token_cost: 0.25,
    cache_creation_input_token_cost: 2,
    prompt_token_cost_unit: 'USD',
    completion_token_cost_unit: 'USD',
    created_at: 0,
    created_by: 'alice',
    ...fields,
  }
}

for (const [dates, startedAt, expected] of [
  [[], 5, undefined],
  [[5], 5, 5],
  [[6], 5, 6],
  [[9, 6, 7], 5, 6],
  [[1, 4, 2], 5, 4],
  [[1, 6], 5, 1],
  [[6, 1], 5, 1],
  [[-3, -1, 8], -2, -3],
] as const) {
  test(`priceOf: of prices from ${JSON.stringify(dates)}, the one from ${expected} applies at ${startedAt}`, () => {
    const prices = dates.map((effective_date) => price({ effective_date }))
    assert.equal(priceOf(prices, startedAt)?.effective_date, expected)
  })
}

test('priceOf: of prices from the same date, the one that was created last applies', () => {
  const prices = [1, 3, 2].map((created_at) => price({ created_at }))
  assert.equal(priceOf(prices, 5)?.created_at, 3)
  assert.equal(priceOf(prices, -5)?.created_at, 3)
})

test('priceOf: the order of the prices does not matter', () => {
  const dates = fc.uniqueArray(fc.integer({ min: -20, max: 20 }), { minLength: 1 })
  fc.assert(
    fc.property(dates, fc.integer({ min: -20, max: 20 }), (days, startedAt) => {
      const inForce = days.filter((day) => day <= startedAt)
      const expected = inForce.length > 0 ? Math.max(...inForce) : Math.min(...days)
      const prices = days.map((effective_date) => price({ effective_date }))
      assert.equal(priceOf(prices, startedAt)?.effective_date, expected)
      assert.equal(priceOf(prices.toReversed(), startedAt)?.effective_date, expected)
    }),
  )
})

const costs = async (usage: Record<string, unknown>, prices: Price[]) => {
  const byModel = Map.groupBy(prices, ({ llm_id }) => llm_id)
  const text = await costsOf(usage, 5, byModel, () => undefined)
  return text === undefined ? undefined : (JSON.parse(text) as Record<string, Record<string, unknown>>)
}

test('costsOf: each model has its own costs', async () => {
  const usage = JSON.parse(
    '{"m":{"prompt_tokens":8,"cache_read_input_tokens":4},"n":{"output_tokens":2},"__proto__":{"requests":1},"x":{}}',
  )
  const prices = ['m', 'n', '__proto__', 'unused'].map((llm_id) => price({ llm_id }))
  const found = await costs(usage, prices)
  assert.ok(found)
  assert.deepEqual(Object.keys(found), ['m', 'n', '__proto__'])
  assert.equal(found.m?.prompt_tokens_total_cost, 4)
  assert.equal(found.m?.cache_read_input_tokens_total_cost, 1)
  assert.equal(found.n?.completion_tokens_total_cost, 20)
  assert.equal(Object.getOwnPropertyDescriptor(found, '__proto__')?.value.requests, 1)
})

for (const usage of [{}, { m: null }, { m: 5 }, { other: {} }, { M: {} }]) {
  test(`costsOf: the usage ${JSON.stringify(usage)} costs nothing`, async () => {
    assert.equal(await costs(usage, [price()]), undefined)
  })
}
