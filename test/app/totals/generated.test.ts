import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { agentAttributes, storedCalls } from '../../support/agents.ts'
import { openApp } from '../../support/app.ts'
import { pricesOf } from '../../support/prices.ts'
import { seededRandom } from '../../support/seeded-random.ts'

const { post } = await openApp({ after })

/** A call as the record shows it, with what follows from it by docs/totals.md. */
interface Call {
  id: string
  trace_id: string
  parent_id: string | null
  thread_id: string
  op_name: string
  attributes: { gen_ai?: { operation?: { name?: string } } }
  exception: string | null
  summary: {
    usage?: Record<string, { prompt_tokens: number; completion_tokens: number; total_cost?: number }>
    weave: { costs?: Record<string, Record<string, number>> }
  }
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, number) => all + number, 0)
const usageOf = ({ summary }: Call) => Object.entries(summary.usage ?? {})[0]
const [inputOf, outputOf] = (['prompt_tokens', 'completion_tokens'] as const).map(
  (name) => (call: Call) => usageOf(call)?.[1][name] ?? 0,
) as [(call: Call) => number, (call: Call) => number]
const costOf = ({ summary }: Call) =>
  sum(Object.values(summary.weave.costs ?? {}).flatMap((costs) => totals.map((name) => costs[name] ?? 0)))
const totals = ['prompt_tokens_total_cost', 'completion_tokens_total_cost', 'stated_total_cost']

/** Tokens count where they were used: not on what repeats them, unless it asks a model itself. */
function counted(selected: readonly Call[], all: readonly Call[]): Call[] {
  const childrenOf = (id: string) => all.filter(({ parent_id }) => parent_id === id)
  const below = (id: string): Call[] => childrenOf(id).flatMap((child) => [child, ...below(child.id)])
  return selected.filter((call) => {
    if (usageOf(call) === undefined) return false
    const isRepeated = below(call.id).some((other) => selected.includes(other) && usageOf(other))
    const isWrapper = childrenOf(call.id).some(
      (child) =>
        selected.includes(child) && inputOf(child) === inputOf(call) && outputOf(child) === outputOf(call),
    )
    return !isRepeated || (call.attributes.gen_ai?.operation?.name === 'chat' && !isWrapper)
  })
}

const figures = (calls: readonly Call[]) => ({
  input: sum(calls.map(inputOf)),
  output: sum(calls.map(outputOf)),
  cost: Math.round(sum(calls.map(costOf)) * 1e6),
})

/** Traces of agents, wrappers and models, of three conversations. */
function generated(random: () => number): Record<string, unknown>[] {
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)] as Item
  return Array.from({ length: 12 }, (_, trace) => {
    const trace_id = randomUUID()
    const calls: { id: string; summary: object }[] = []
    for (let n = 0; n < 7; n++) {
      const above = calls.length === 0 ? undefined : pick(calls.slice(-3))
      const tokens = { prompt_tokens: Math.floor(random() * 9) + 1, completion_tokens: 1 }
      const stated =
        random() < 0.5 ? { total_cost: pick<unknown>([0.1, 0.25, 0, 3, -1, 'much', null, 1e300]) } : {}
      const usage = { usage: { [pick(['small', 'large', 'huge'])]: { ...tokens, ...stated } } }
      calls.push({
        id: randomUUID(),
        // The next one repeats some.
        summary: above && random() < 0.4 ? above.summary : random() < 0.7 ? usage : {},
        ...{ trace_id, parent_id: above?.id ?? null, op_name: pick(['ask', 'plan']) },
        thread_id: `thread ${trace % 3}`,
        exception: random() < 0.2 ? 'it failed' : null,
        attributes: pick([
          {},
          agentAttributes(pick(['weaver', 'dyer'])),
          { gen_ai: { operation: { name: 'chat' } } },
        ]),
      } as (typeof calls)[number])
    }
    return calls as unknown as Record<string, unknown>[]
  }).flat()
}

async function linesOf<Line>(url: string, body: object): Promise<Line[]> {
  const { status, text } = await post(url, body)
  assert.equal(status, 200, text)
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

for (const seed of [1, 2, 3, 4, 5, 6]) {
  test(`routes agree on the totals of generated calls, some of them deleted (seed ${seed})`, async () => {
    const random = seededRandom(seed)
    const project_id = await storedCalls(post, `generated${seed}`, generated(random))
    const price = { prompt_token_cost: 0.5, completion_token_cost: 0.25 }
    assert.equal((await post('/cost/create', pricesOf({ small: price }, project_id))).status, 200)
    const read = () => linesOf<Call>('/calls/stream_query', { project_id, include_costs: true })
    const call_ids = (await read()).filter(() => random() < 0.08).map(({ id }) => id)
    assert.equal((await post('/calls/delete', { project_id, call_ids })).status, 200)
    const calls = await read()

    for (const filter of [{}, { op_names: ['ask'] }, { trace_roots_only: true }]) {
      const selected = calls.filter(
        ({ op_name, parent_id }) =>
          (filter.op_names?.includes(op_name) ?? true) && (!filter.trace_roots_only || parent_id === null),
      )
      const usage_metrics = ['input_tokens', 'output_tokens', 'total_cost'].map((metric) => ({ metric }))
      const range = { start: '2026-01-02T00:00:00Z', end: '2026-01-03T00:00:00Z' }
      const { json } = await post('/calls/stats', { project_id, ...range, filter, usage_metrics })
      const rows: Record<string, number>[] = json.usage_buckets
      const column = (name: string) => sum(rows.map((row) => row[`sum_${name}`] ?? 0))
      assert.deepEqual(
        {
          ...{ input: column('input_tokens'), output: column('output_tokens') },
          cost: Math.round(column('total_cost') * 1e6),
        },
        figures(counted(selected, calls)),
      )
    }

    const range = { after: '2026-01-02T00:00:00Z', before: '2026-01-03T00:00:00Z', step_seconds: 3600 }
    const charts = await post('/views/buckets', { project_id, ...range, costs: true })
    const buckets: { cost: number | null; unpriced: number }[] = charts.json.buckets
    const used = calls.filter((call) => usageOf(call))
    assert.deepEqual(
      [
        sum(buckets.map(({ cost }) => Math.round((cost ?? 0) * 1e6))),
        sum(buckets.map(({ unpriced }) => unpriced)),
      ],
      [figures(calls).cost, used.filter(({ summary }) => summary.weave.costs === undefined).length],
    )
    const sort_by = [{ field: 'cost', direction: 'desc' }]
    const list = await post('/views/calls', { project_id, sort_by, limit: 200 })
    const listed: { id: string; cost: number | null }[] = list.json.calls
    const known = new Map(calls.map((call) => [call.id, call.summary.weave.costs ? costOf(call) : null]))
    assert.deepEqual(new Map(listed.map(({ id, cost }) => [id, cost])), known)
    const shown = listed.map(({ cost }) => cost ?? -1)
    assert.deepEqual(
      shown,
      shown.toSorted((cost, other) => other - cost),
    )
    const query = { $expr: { $gt: [{ $getField: 'cost' }, { $literal: 0.2 }] } }
    const dear = await linesOf<Call>('/calls/stream_query', { project_id, query })
    assert.equal(dear.length, calls.filter((call) => costOf(call) > 0.2).length)

    const once = counted(calls, calls)
    const threads = await linesOf<Record<string, number>>('/threads/stream_query', {
      ...{ project_id, include_details: true },
    })
    for (const thread of threads) {
      const own = (call: Call) => call.thread_id === String(thread.thread_id)
      const expected = figures(once.filter(own))
      const { input_tokens: input, output_tokens: output, cost, call_count, error_count } = thread
      assert.deepEqual({ input, output, cost: Math.round((cost ?? 0) * 1e6) }, expected)
      const failed = calls.filter((call) => own(call) && call.exception !== null)
      assert.deepEqual([call_count, error_count], [calls.filter(own).length, failed.length])
      const chat = await post('/agents/conversations/chat', {
        ...{ project_id, conversation_id: thread.thread_id },
      })
      const turns: Record<string, number>[] = chat.json.turns
      const column = (name: string) => sum(turns.map((turn) => turn[name] ?? 0))
      assert.deepEqual(
        {
          ...{ input: column('total_input_tokens'), output: column('total_output_tokens') },
          cost: Math.round(column('total_cost_usd') * 1e6),
        },
        expected,
      )
      assert.equal(Math.round((chat.json.total_cost_usd ?? 0) * 1e6), expected.cost)
    }
  })
}
