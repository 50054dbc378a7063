import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { sumAll, sumTraces } from '../../../src/operations/calls/sums.ts'
import { agentFields, readAgents } from '../../../src/storage/agents/agents.ts'
import type { Database } from '../../../src/storage/database.ts'
import { rawSql, sql } from '../../../src/storage/sql/sql.ts'
import { day, hour, startOf } from '../../../src/storage/sums/spans.ts'
import { findWrongTraceSums } from '../../../src/storage/trace-sums/check.ts'
import { sumUpTraces } from '../../../src/storage/trace-sums/keeping.ts'
import { traceMarks, unsettledTraces } from '../../../src/storage/trace-sums/marks.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { largestThreads } from '../../../src/storage/views/largest-threads.ts'
import { streamThreads } from '../../../src/storage/views/threads.ts'
import { endPart, newProject, startedAt, startPart, wholePart } from '../../support/call-parts.ts'
import { tried } from '../../support/campaign-share.ts'
import type { Driver } from '../../support/drivers.ts'

const signal = new AbortController().signal
const from = startOf(startedAt, day)
const expiry = from + 3 * day

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g')
const attributes = fc
  .tuple(
    fc.constantFrom(
      undefined,
      undefined,
      { name: 'weaver' },
      { name: 'weaver', version: '2' },
      { name: 'dyer' },
    ),
    fc.constantFrom('invoke_agent', 'chat'),
  )
  .map(([agent, name]) => JSON.stringify({ gen_ai: { ...(agent && { agent }), operation: { name } } }))
const starts = fc.record({
  trace_id: fc.constantFrom('t1', 't1', 't2', 't3'),
  parent_id: fc.oneof(fc.constant(null), id),
  thread_id: fc.constantFrom(null, 'x', 'y', 'z'),
  turn_id: fc.oneof(fc.constant(null), id),
  started_at: fc.nat({ max: 40 }).map((n) => from + n * (hour - 1)),
  expire_at: fc.constantFrom(null, null, null, expiry),
  attributes,
})
const ends = fc.record({
  ended_at: fc.nat({ max: 9 }).map((n) => from + 40 * hour + 10 ** n),
  exception: fc.constantFrom(null, null, 'it failed'),
  summary: fc.constantFrom(
    '{}',
    '{"usage":{"m":{"prompt_tokens":3,"completion_tokens":4}}}',
    '{"usage":{"m":{"prompt_tokens":3,"completion_tokens":4}}}',
    '{"usage":{"m":{"prompt_tokens":1},"n":{"prompt_tokens":2}}}',
    '{"usage":{"n":{"prompt_tokens":1,"total_cost":0.25}}}',
  ),
})

const price = (project_id: string, n: number) => ({
  ...{
    project_id,
    id: `p${n}`,
    llm_id: 'm',
    provider_id: 'default',
    prompt_token_cost: n,
    completion_token_cost: 0.1,
  },
  ...{ prompt_token_cost_unit: 'USD', completion_token_cost_unit: 'USD', cache_read_input_token_cost: 0 },
  ...{
    cache_creation_input_token_cost: 0,
    effective_date: from + n * 9 * hour,
    created_at: n,
    created_by: 'alice',
  },
})

type Step = (db: Database, project: string) => Promise<unknown>
const rounds = new Map<string, ReadonlySet<string>>()
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.tuple(id, starts).map(([call, start]): Step => {
      return (db, project) => db.write('upsertCalls', [startPart(project, call, start)])
    }),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(id, ends).map(([call, end]): Step => {
      return (db, project) => db.write('upsertCalls', [endPart(project, call, end)])
    }),
  },
  {
    weight: 5,
    arbitrary: fc.constant<Step>(async (db, project) => {
      rounds.set(project, await sumTraces(boundTo(db, signal), rounds.get(project) ?? new Set()))
    }),
  },
  id.map(
    (call): Step =>
      (db, project_id) =>
        db.write('deleteCalls', { project_id, ids: [call], now: from }),
  ),
  fc.boolean().map((isLate): Step => {
    const forgetBefore = isLate ? expiry : 0
    return (db) =>
      db.write('sweepCalls', { now: expiry + (isLate ? 1 : -1), forgetBefore, limit: 3, bytes: 1e9 })
  }),
  fc.nat({ max: 1 }).map(
    (n): Step =>
      (db, project) =>
        db.write('removePrices', { project_id: project, ids: [`p${n}`] }),
  ),
  fc.nat({ max: 1 }).map(
    (n): Step =>
      async (db, project) => {
        await db.write('removePrices', { project_id: project, ids: [`p${n}`] })
        await db.write('addPrices', [price(project, n)])
      },
  ),
)

/** Sums refuse, and all calls are read. */
const withoutSums = (db: Database): Database => {
  const stream: Database['stream'] = async function* (query, options) {
    if (query.text.includes('FROM trace_sums_state')) yield [{ one: 1 }] as never[]
    else yield* db.stream(query, options)
  }
  return { ...db, stream }
}

/** Numbers that were added in another order differ in their last digits. */
const rounded = (rows: readonly object[]) =>
  rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([key, value]) => [
        key,
        typeof value === 'number' && !Number.isSafeInteger(value) ? Number(value.toPrecision(9)) : value,
      ]),
    ),
  )

async function answersAreExact(db: Database, project: string, now: number): Promise<void> {
  const ranges = [
    [undefined, undefined],
    [from + 5 * hour, undefined],
    [from + hour / 2, from + 33.5 * hour],
    [from + day, from + 2 * day],
  ]
  for (const [start, before] of ranges) {
    for (const [agent, byVersion] of [
      [undefined, false],
      ['weaver', true],
    ] as const) {
      const sort = agentFields.slice(2, 4).map((field) => ({ field, direction: 'desc' as const }))
      const view = { project, agent, byVersion, from: start, before, costs: true, sort, limit: 10, offset: 0 }
      assert.deepEqual(
        rounded(await readAgents(boundTo(db, signal), view, now)),
        rounded(await readAgents(boundTo(withoutSums(db), signal), view, now)),
      )
    }
  }
  for (const field of ['error_count', 'cost'] as const) {
    for (const [limit, offset] of [
      [1, 0],
      [1, 1],
      [5, 0],
    ] as const) {
      const sort = [{ field, direction: 'desc' as const }]
      const view = { project, threads: undefined, after: undefined, before: undefined, sort, limit, offset }
      const read = async (reader: Database) => {
        const rows = []
        for await (const some of streamThreads(boundTo(reader, signal), view, now)) rows.push(...some)
        return rows
      }
      assert.deepEqual(await read(db), await read(withoutSums(db)), field)
    }
  }
}

const agentsView = (project: string) => ({
  ...{ project, agent: undefined, byVersion: false, from: undefined, before: undefined, costs: false },
  ...{ sort: [], limit: null, offset: 0 },
})

/** The campaign of which a long file runs the whole. */
export function traceSumsAfterWrites(open: Driver['open']): void {
  test('answer as the calls do, after any writes', async (t) => {
    const db = await open(t)
    const runs = fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 25 }), async (steps) => {
      const project = newProject()
      for (const take of steps) await take(db, project)
      await answersAreExact(db, project, from)
      await answersAreExact(db, project, expiry)
      await sumTraces(boundTo(db, signal), await sumTraces(boundTo(db, signal), new Set()))
      const left = await unsettledTraces(boundTo(db, signal), project, from)
      assert.deepEqual([left?.hours.size, left?.threads.size], [0, 0])
      await answersAreExact(db, project, from)
      await answersAreExact(db, project, expiry)
    })
    await fc.assert(runs, tried({ share: 5, whole: 40 }))
  })
}

export function sumsOfTraces(open: Driver['open']): void {
  describe('sums of traces', () => {
    traceSumsAfterWrites(open)

    test('are what agents and conversations are read from', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('upsertCalls', [
        startPart(project, 'a', { thread_id: 'x' }),
        startPart(project, 'b', { thread_id: 'y' }),
      ])
      await db.write('upsertCalls', [endPart(project, 'b', { exception: 'it failed' })])
      const view = { project, threads: undefined, after: undefined, before: undefined, limit: 1, offset: 0 }
      const sort = [{ field: 'error_count' as const, direction: 'desc' as const }]
      assert.equal((await largestThreads(boundTo(db, signal), { ...view, sort }, from))?.length, 2)
      await sumTraces(boundTo(db, signal), await sumTraces(boundTo(db, signal), new Set()))
      assert.deepEqual(await largestThreads(boundTo(db, signal), { ...view, sort }, from), ['y'])
    })

    const weaver = { attributes: '{"gen_ai":{"agent":{"name":"weaver","version":"1"}}}' }
    const agentsOf = (db: Database, project: string) =>
      readAgents(boundTo(db, signal), agentsView(project), from)

    test('of a project that was deleted meanwhile are not stored', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('upsertCalls', [startPart(project, 'a', { ...weaver, thread_id: 'x' })])
      const marks = (await traceMarks(boundTo(db, signal))).filter((mark) => mark.project_id === project)
      assert.ok(marks.length > 0)
      const sums = await sumUpTraces(boundTo(db, signal), project, marks)
      await db.write('beginProjectDeletion', {
        project_id: project,
        now: from,
        by: { via: 'http', name: 'a' },
      })
      for (let isDone = false; !isDone; )
        isDone = (await db.write('deleteSomeOfProject', { project_id: project, now: from }))?.isDone ?? true
      await db.write('keepTraceSums', sums)
      assert.deepEqual(await agentsOf(db, project), [])
      for (const table of ['agent_sums', 'thread_sums', 'trace_sums_state'])
        assert.deepEqual(await db.all(sql`SELECT * FROM ${rawSql(table)} WHERE project_id = ${project}`), [])
    })

    test('of the first hour of 1970 and of any other time are kept', async (t) => {
      const db = await open(t)
      const project = newProject()
      const times = [0, 600_000_000, -1, -9_001_000_000_000_000, 9_001_000_000_000_000]
      const parts = times.map((started_at, n) => startPart(project, `c${n}`, { ...weaver, started_at }))
      await db.write('upsertCalls', parts)
      assert.equal((await agentsOf(db, project))[0]?.span_count, times.length)
      await sumAll(boundTo(db, signal))
      await sumTraces(boundTo(db, signal), await sumTraces(boundTo(db, signal), new Set()))
      assert.equal((await unsettledTraces(boundTo(db, signal), project, from))?.hours.size, 0)
      assert.equal((await agentsOf(db, project))[0]?.span_count, times.length)
    })

    test('of an agent with a version for each run are added up', async (t) => {
      const db = await open(t)
      const project = newProject()
      const parts = Array.from({ length: 3_000 }, (_, n) => {
        const attributes = JSON.stringify({ gen_ai: { agent: { name: 'weaver', version: `${n}` } } })
        return wholePart(project, `c${n}`, { attributes, trace_id: `${n}` }, {})
      })
      await db.write('upsertCalls', parts)
      await sumTraces(boundTo(db, signal), await sumTraces(boundTo(db, signal), new Set()))
      const [agent] = await agentsOf(db, project)
      assert.equal(agent?.span_count, parts.length)
      assert.ok((agent?.total_duration_ms ?? 0) > 0 && (agent?.p95_duration_ms ?? 0) > 0)
    })

    test('are found when they are wrong, and added up again', async (t) => {
      const db = await open(t)
      const project = newProject()
      const named = { thread_id: 'x', attributes: '{"gen_ai":{"agent":{"name":"weaver"}}}' }
      await db.write('upsertCalls', [startPart(project, 'a', named)])
      await sumTraces(boundTo(db, signal), await sumTraces(boundTo(db, signal), new Set()))
      const found = async () => {
        const all = []
        for await (const wrong of findWrongTraceSums(boundTo(db, signal)))
          if (wrong.project_id === project) all.push(wrong)
        return all
      }
      assert.deepEqual(await found(), [])
      const tables = [
        {
          name: 'agent_sums',
          columns: ['project_id'],
          key: ['project_id', 'span', 'at', 'agent', 'version'],
        },
        { name: 'thread_sums', columns: ['project_id'], key: ['project_id', 'thread_id'] },
      ]
      for (const table of tables) await db.write('clearRows', { table, most: 1_000 })
      const wrong = await found()
      assert.deepEqual(wrong, [
        { project_id: project, hours: [startOf(startedAt, hour)], threads: [] },
        { project_id: project, hours: [], threads: ['x'] },
      ])
      for (const sums of wrong) await db.write('markWrongTraces', sums)
      await sumTraces(boundTo(db, signal), await sumTraces(boundTo(db, signal), new Set()))
      assert.deepEqual(await found(), [])
    })
  })
}
