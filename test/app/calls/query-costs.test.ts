import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { recordsOf } from '../../support/answers.ts'
import { openApp } from '../../support/app.ts'
import { completeOf, project } from '../../support/calls.ts'
import { pricesOf } from '../../support/prices.ts'

const { post } = await openApp({ after })
const id = (index: number) => String(index).padStart(16, '0')
const usages: object[] = [
  { small: { prompt_tokens: 10, completion_tokens: 5 } },
  {
    large: {
      input_tokens: 100,
      output_tokens: 50,
      cache_read_input_tokens: 40,
      cache_creation_input_tokens: 8,
    },
  },
  // A root that has summed up the calls of two models, and one of which a model has no price.
  { large: { prompt_tokens: 100, completion_tokens: 50 }, small: { prompt_tokens: 1 } },
  { 'a, b': { prompt_tokens: 3 }, small: { prompt_tokens: 2 }, none: { prompt_tokens: 1_000 } },
  { none: { prompt_tokens: 1_000 } },
  {},
]
const batch = usages.map((usage, index) =>
  completeOf({ id: id(index), trace_id: String(index).padStart(32, '0'), summary: { usage } }),
)
const [first] = batch
const started = Date.parse((first as { started_at: string }).started_at)
const priced = await post('/cost/create', {
  ...pricesOf({
    small: {
      prompt_token_cost: 0.1,
      completion_token_cost: 0.2,
      effective_date: new Date(started + 9e6).toISOString(),
    },
    large: {
      prompt_token_cost: 1,
      completion_token_cost: 2,
      effective_date: new Date(started - 9e6).toISOString(),
    },
    'a, b': { prompt_token_cost: 5, completion_token_cost: 0 },
  }),
})
assert.equal(priced.status, 200, priced.text)
const later = pricesOf({
  large: {
    prompt_token_cost: 3,
    completion_token_cost: 4,
    cache_read_input_token_cost: 0.5,
    cache_creation_input_token_cost: 7,
    effective_date: new Date(started - 8e6).toISOString(),
  },
})
await post('/cost/create', later)
const written = await post(`/v2/${project}/calls/complete`, { batch })
assert.equal(written.status, 200, written.text)

interface Shown {
  id: string
  cost: number | null
}
const view = async (body: object) => {
  const { json, text } = await post('/views/calls', { project_id: project, ...body })
  assert.ok(Array.isArray(json.calls), text)
  return json.calls as Shown[]
}

test('calls are sorted by the cost that is shown, those without a price last', async () => {
  const shown = await view({})
  const costs = shown.flatMap(({ cost }) => cost ?? [])
  assert.equal(costs.length, 4)
  for (const direction of ['desc', 'asc'] as const) {
    const sorted = (await view({ sort_by: [{ field: 'cost', direction }] })).map(({ cost }) => cost)
    assert.deepEqual(sorted, [...costs.toSorted((a, b) => (direction === 'asc' ? a - b : b - a)), null, null])
  }
})

test('a filter by cost finds the calls with such a cost', async () => {
  for (const { cost } of await view({})) {
    if (cost === null) continue
    const above = { $expr: { $gt: [{ $getField: 'cost' }, { $literal: cost - 0.001 }] } }
    const costs = (await view({ query: above })).map((call) => call.cost as number)
    assert.ok(costs.includes(cost))
    assert.ok(costs.every((other) => other > cost - 0.001))
  }
  const cheap = { $expr: { $lt: [{ $getField: 'cost' }, { $literal: 3 }] } }
  const found = await post('/calls/stream_query', { project_id: project, query: cheap })
  assert.deepEqual(
    recordsOf(found).map((call) => call.id),
    [id(0)],
  )
})
