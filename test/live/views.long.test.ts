import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { queryOf } from '../../packages/filter/index.ts'
import type { TraceColumns } from '../../src/operations/views/trace-contract.ts'
import { conditionOf } from '../../ui/filter/facet-filter.ts'
import { traceReader } from '../../ui/server/trace-columns.ts'
import { recordsOf } from '../support/answers.ts'
import { openApp, type TestApp } from '../support/app.ts'
import { completeOf, project } from '../support/calls.ts'
import { allDrivers, type Driver } from '../support/drivers.ts'
import { createSpec, giveFeedback } from '../support/feedback.ts'
import { pricesOf } from '../support/prices.ts'
import { seededRandom } from '../support/seeded-random.ts'

// Views are the same on every driver.
for (const driver of allDrivers()) {
  describe(driver.name, () => {
    before(driver.start)
    after(driver.stop)
    tracesAndFacets(driver)
  })
}

const id = (index: number) => String(index).padStart(16, '0')
const traceId = 'a'.repeat(32)

async function withCalls({ post }: Pick<TestApp, 'post'>, count: number, first = 0): Promise<void> {
  const batch = Array.from({ length: count }, (_, place) => first + place).map((index) =>
    completeOf({
      id: id(index),
      trace_id: index % 2 === 0 ? traceId : 'b'.repeat(32),
      parent_id: index < 2 ? null : id(index % 2),
      op_name: `op${index % 3}`,
      started_at: new Date(Date.UTC(2026, 0, 2) + index * 1_000).toISOString(),
      ended_at: new Date(Date.UTC(2026, 0, 2) + index * 1_000 + 500).toISOString(),
      summary: { usage: { small: { prompt_tokens: 10, completion_tokens: 5 } } },
      exception: index % 5 === 0 ? 'Error: no' : null,
    }),
  )
  const { status, text } = await post(`/v2/${project}/calls/complete`, { batch })
  assert.equal(status, 200, text)
}

const callRef = (call: number) => `weave:///${project}/call/${id(call)}`

function tracesAndFacets(driver: Driver): void {
  test('a trace is in order of time, with its costs and without calls of other traces', async (t) => {
    const app = await openApp(t, { database: await driver.open(t) })
    await app.post(
      '/cost/create',
      pricesOf({ small: { prompt_token_cost: 0.1, completion_token_cost: 0.2 } }),
    )
    await withCalls(app, 12)
    await giveFeedback(app.post, {
      svc_ref: callRef(4),
      feedback_type: 'wandb.reaction.1',
      payload: { emoji: '👎' },
    })
    await app.post('/calls/delete', { project_id: project, call_ids: [id(8)] })
    const rows = recordsOf(await app.post('/views/trace', { project_id: project, trace_id: traceId }))
    assert.deepEqual(
      rows.map((row) => [row.id, row.parent_id, row.op_name, row.status, row.cost, row.feedback]),
      [0, 2, 4, 6, 10].map((index) => [
        id(index),
        index === 0 ? null : id(0),
        `op${index % 3}`,
        index % 5 === 0 ? 'error' : 'success',
        2,
        Number(index === 4),
      ]),
    )
    const { rows: shown, read } = traceReader()
    const columns = await app.post('/views/trace', {
      project_id: project,
      trace_id: traceId,
      layout: 'columns',
    })
    for (const line of recordsOf(columns)) read(line as TraceColumns)
    assert.deepEqual(
      shown.map(({ start, end, ...row }) => [row, start, end]),
      rows.map(({ started_at, ended_at, ...row }) => [
        row,
        Date.parse(String(started_at)),
        Date.parse(String(ended_at)),
      ]),
    )
    const first = await app.post('/views/trace', { project_id: project, trace_id: traceId, limit: 2 })
    assert.deepEqual(
      recordsOf(first).map((row) => row.id),
      [id(0), id(2)],
    )
    assert.deepEqual(recordsOf(await app.post('/views/trace', { project_id: project, trace_id: 'no' })), [])
  })

  test('facet counts of feedback match the results of their filters', async (t) => {
    const app = await openApp(t, { database: await driver.open(t) })
    const { post } = app
    const count = 40
    await withCalls(app, count)
    const annotation_ref = await createSpec(post, 'tone', { type: 'string' })
    const runnable_ref = `weave:///${project}/op/judge:v1`
    const call_ref = callRef(0)
    const kinds = [
      ...['👍', '👎', '🎉'].map((emoji) => ({ feedback_type: 'wandb.reaction.1', payload: { emoji } })),
      { feedback_type: 'wandb.note.1', payload: { note: 'why' } },
      { feedback_type: 'wandb.annotation.tone', payload: { value: 'kind' }, annotation_ref },
      { feedback_type: 'wandb.runnable.judge', payload: { output: { score: 1 } }, runnable_ref, call_ref },
      { feedback_type: 'my.own [type] of it', payload: {} },
    ]
    const random = seededRandom(7)
    const types = new Map<string, Set<number>>()
    const reactions = new Map<number, string>()
    for (let turn = 0; turn < 120; turn++) {
      // The last calls get none.
      const call = Math.floor(random() * (count - 6))
      const said = kinds[Math.floor(random() * kinds.length)] as (typeof kinds)[number]
      await giveFeedback(post, { svc_ref: callRef(call), ...said })
      types.set(said.feedback_type, (types.get(said.feedback_type) ?? new Set()).add(call))
      if ('emoji' in said.payload) reactions.set(call, String(said.payload.emoji))
    }
    const gone = 3
    await post('/calls/delete', { project_id: project, call_ids: [id(gone)] })
    for (const [filter, isIn] of [
      [{}, () => true],
      [{ op_names: ['op1'] }, (call: number) => call % 3 === 1],
    ] as const) {
      const calls = Array.from({ length: count }, (_, call) => call).filter(
        (call) => call !== gone && isIn(call),
      )
      const saidOf = (call: number) => [...types].flatMap(([type, of]) => (of.has(call) ? type : []))
      const countsOf = (values: readonly (string | null)[]) =>
        new Map([...Map.groupBy(values, (value) => value)].map(([value, all]) => [value, all.length]))
      const expected = {
        feedback: countsOf(
          calls.flatMap((call): (string | null)[] => {
            const said = saidOf(call)
            return said.length === 0 ? [null] : said
          }),
        ),
        reaction: countsOf(calls.map((call) => reactions.get(call) ?? null)),
      }
      const { json, status, text } = await post('/views/facets', {
        project_id: project,
        filter,
        fields: ['feedback', 'reaction'],
      })
      assert.equal(status, 200, text)
      for (const { field, values, others, sampled } of json.facets as {
        field: 'feedback' | 'reaction'
        values: { value: string | null; count: number }[]
        others: number
        sampled: number | null
      }[]) {
        assert.deepEqual([others, sampled], [0, null])
        assert.deepEqual(new Map(values.map(({ value, count }) => [value, count])), expected[field])
        const ordered = values.filter(({ value }) => value !== null).map((one) => one.count)
        assert.deepEqual(
          ordered,
          ordered.toSorted((one, other) => other - one),
        )
        for (const { value, count: said } of values) {
          const condition = conditionOf({ field, value, isJson: false })
          const query = { $expr: condition && queryOf(condition) }
          const found = await post('/calls/query_stats', { project_id: project, filter, query })
          assert.deepEqual([found.status, found.json.count], [200, said], `${field} ${value}: ${found.text}`)
        }
      }
    }
  })

  test('with more kinds of feedback than are shown, calls with other kinds are counted once', async (t) => {
    const app = await openApp(t, { database: await driver.open(t) })
    await withCalls(app, 3)
    for (let kind = 0; kind < 53; kind++) {
      const feedback_type = `kind${String(kind).padStart(2, '0')}`
      await giveFeedback(app.post, { svc_ref: callRef(0), feedback_type })
    }
    await giveFeedback(app.post, { svc_ref: callRef(1), feedback_type: 'kind00' })
    const asked = { project_id: project, fields: ['feedback'] }
    const [facet] = (await app.post('/views/facets', asked)).json.facets
    assert.deepEqual([facet.values.length, facet.others], [51, 1])
    assert.deepEqual(facet.values[0], { value: 'kind00', count: 2 })
    assert.deepEqual(facet.values.at(-1), { value: null, count: 1 })
  })

  test('with very much feedback only the newest calls are counted, and the answer says so', async (t) => {
    const app = await openApp(t, { database: await driver.open(t) })
    const calls = 2_100
    for (let from = 0; from < calls; from += 700) await withCalls(app, 700, from)
    const say = async (batch: object[]) => {
      const records = batch.map((one) => ({
        project_id: project,
        feedback_type: 'my.type',
        payload: {},
        ...one,
      }))
      const { status, text } = await app.post('/feedback/batch/create', { batch: records })
      assert.equal(status, 200, text)
    }
    const ofOldest = Array.from({ length: 1_000 }, () => ({ svc_ref: callRef(0) }))
    for (let turn = 0; turn < 20; turn++) await say(ofOldest)
    const asked = { project_id: project, fields: ['feedback', 'reaction'] }
    const facetsOf = async (more = {}) => (await app.post('/views/facets', { ...asked, ...more })).json.facets
    const [all] = await facetsOf()
    assert.deepEqual([all.sampled, all.values.at(-1)], [null, { value: null, count: calls - 1 }])
    const react = (emoji: string) => ({ feedback_type: 'wandb.reaction.1', payload: { emoji } })
    await say([
      { svc_ref: callRef(calls - 1), ...react('👍') },
      { svc_ref: callRef(calls - 1), ...react('👎') },
      { svc_ref: callRef(calls - 2), ...react('👍') },
      { svc_ref: callRef(calls - 2) },
    ])
    const [feedback, reaction] = await facetsOf()
    assert.deepEqual(feedback, {
      field: 'feedback',
      values: [
        { value: 'wandb.reaction.1', count: 2 },
        { value: 'my.type', count: 1 },
        { value: null, count: 1_998 },
      ],
      others: 0,
      sampled: 2_000,
    })
    assert.deepEqual(reaction.values, [
      { value: '👍', count: 1 },
      { value: '👎', count: 1 },
      { value: null, count: 1_998 },
    ])
    // In a view with few calls all of them are the newest.
    const [few] = await facetsOf({ filter: { call_ids: [id(0), id(1), id(2)] } })
    assert.deepEqual(
      [few.sampled, ...few.values],
      [3, { value: 'my.type', count: 1 }, { value: null, count: 2 }],
    )
  })
}
