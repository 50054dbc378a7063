import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Comparator, Expression } from '../../../src/domain/expressions/expression.ts'
import type { SortBy } from '../../../src/domain/view.ts'
import { sumAll } from '../../../src/operations/calls/sums.ts'
import { selectCalls } from '../../../src/storage/calls/calls.ts'
import { type CallsView, largestQuery, streamCalls } from '../../../src/storage/calls/queries.ts'
import type { Database } from '../../../src/storage/database.ts'
import { pricesOfProject } from '../../../src/storage/prices.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { findWrongSums } from '../../../src/storage/sums/check.ts'
import { isSortedByLargest, largestHours } from '../../../src/storage/sums/largest-hours.ts'
import { readSums } from '../../../src/storage/sums/reading.ts'
import { day, hour, startOf } from '../../../src/storage/sums/spans.ts'
import { reachingHours } from '../../../src/storage/sums/thresholds.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { readLightCalls } from '../../../src/storage/views/light-calls.ts'
import { newProject, startedAt, startPart, wholePart } from '../../support/call-parts.ts'
import { isWhole, sampled, tried } from '../../support/campaign-share.ts'
import type { Driver } from '../../support/drivers.ts'
import { equals } from '../../support/views.ts'
import { priceOf } from './prices.ts'

const signal = new AbortController().signal
const from = startOf(startedAt, day)
const expiry = from + 20 * day
const ops = ['ask', 'answer', 'Evaluation.predict_and_score', 'heddle.judge']

interface Written {
  hour: number
  latency: number | null
  input: number | null
  first: number | null
  /** As its client states it, of a model without a price. */
  cost: number | null
  op_name: string
  isChild: boolean
  expires: boolean
  user?: string
  bytes?: number
}

/** Few values, so that many are equal; some calls lack them, or end before they begin. */
const written: fc.Arbitrary<Written> = fc.record({
  hour: fc.nat({ max: 130 }),
  latency: fc.constantFrom(null, -5, 0, 1, 20, 20, 300, 301, 4_000),
  input: fc.constantFrom(null, 0, 7, 7, 90, 100),
  first: fc.constantFrom(null, null, null, null, 3, 50),
  cost: fc.constantFrom(null, null, null, 0, 0.01, 25),
  op_name: fc.constantFrom(...ops),
  isChild: fc.boolean(),
  expires: fc.nat({ max: 20 }).map((n) => n === 0),
  user: fc.constantFrom('alice', 'bob', 'carol', 'dave \u{1f600}'),
  bytes: fc.constantFrom(4, 4, 80, 900),
})

/** Ids are in no order of time; some are in another order for JavaScript than for databases. */
const idOf = (n: number) => `${['a', 'z', '\u{1f600}', '\uffdc'][(n * 7) % 19] ?? 'm'}${(n * 37) % 101} ${n}`

const plainId = (n: number) => `call ${n}`

function partOf(
  project: string,
  n: number,
  { hour: at, latency, input, first, cost, ...call }: Written,
  id = idOf(n),
) {
  const started_at = from + at * hour + ((n * 7_919) % 3_600) * 1_000_000
  const fields = {
    ...{ started_at, op_name: call.op_name, trace_id: 't', parent_id: call.isChild ? 'root' : null },
    expire_at: call.expires ? expiry : null,
    ...(call.user !== undefined && { user_id: call.user }),
    ...(call.bytes !== undefined && { start_bytes: call.bytes }),
  }
  if (latency === null) return startPart(project, id, fields)
  const used = { prompt_tokens: input, completion_tokens: 5 }
  const own = cost === null ? { m: used } : { other: { ...used, total_cost: cost } }
  const usage = input === null ? undefined : n % 7 === 0 ? { m: used, unpriced: {} } : own
  const summary = JSON.stringify({ usage, ...(first !== null && { heddle: { first_token_ms: first } }) })
  // Below a millisecond the order is that of the ids.
  const ended_at = started_at + latency * 1000 + (latency > 0 ? n % 1000 : 0)
  return wholePart(project, id, fields, { ended_at, summary })
}

/** A price of the model from an hour on. */
const priceFrom = (project: string, at: number, prompt_token_cost: number) =>
  priceOf(project, {
    ...{ llm_id: 'm', effective_date: from + at * hour, prompt_token_cost, completion_token_cost: 0.01 },
    ...{ cache_read_input_token_cost: 0, cache_creation_input_token_cost: 0 },
  })

async function wrongSums(db: Database) {
  const wrong = []
  for await (const found of findWrongSums(boundTo(db, signal))) wrong.push(found)
  return wrong
}

const viewOf = (project: string, view: Partial<CallsView>): CallsView => ({
  ...{ project, filters: [], query: undefined, sort: [], limit: null, offset: 0, ...view },
})

const by = (field: string, direction: SortBy['direction'] = 'desc'): SortBy => ({ field, direction })
const latency = by('summary.weave.latency_ms')

const sorts: SortBy[][] = [
  [latency],
  [by('input_tokens')],
  [by('output_tokens')],
  [by('first_token_ms')],
  [latency, by('started_at', 'asc')],
  [by('first_token_ms'), by('input_tokens', 'asc')],
  [by('cost')],
  [by('cost'), by('started_at', 'asc')],
  [by('summary.weave.latency_ms', 'asc')],
  [by('output_tokens', 'asc')],
  [by('storage_size_bytes')],
  [by('storage_size_bytes', 'asc'), by('started_at', 'asc')],
  [by('cost', 'asc')],
  [by('svc_user_id')],
  [by('svc_user_id', 'asc')],
  [by('model')],
  [by('model', 'asc')],
  [by('op', 'asc'), by('started_at', 'asc')],
]
const selections: Partial<CallsView>[] = [
  {},
  { filters: [{ trace_roots_only: true }] },
  { query: equals('op', 'ask') },
  { query: equals('origin', 'evaluation') },
  { query: equals('summary.weave.status', 'success') },
  { filters: [{ op_names: ['ask', 'heddle.judge'] }] },
]

const above = (field: string, value: number, comparator: Comparator = 'gt'): Expression => ({
  ...{ op: 'compare', by: comparator, path: 'query' },
  left: { op: 'field', field },
  right: { op: 'literal', literal: { kind: 'number', value, text: String(value) } },
})
const thresholds = [
  above('summary.weave.latency_ms', 300),
  above('summary.weave.latency_ms', 4_000, 'gte'),
  above('summary.weave.latency_ms', 10_000),
  above('input_tokens', 90),
  above('first_token_ms', 50, 'gte'),
  above('cost', 0.05),
  above('cost', 25, 'gte'),
  above('cost', 25),
]

const columns = { large: new Set<never>(), totalStorageSize: false }

async function streamed(db: Database, view: CallsView, now: number): Promise<string[]> {
  const ids: string[] = []
  for await (const rows of streamCalls(boundTo(db, signal), view, columns, now))
    ids.push(...rows.map(({ id }) => id))
  return ids
}

const listed = async (db: Database, view: CallsView, now: number) =>
  (await readLightCalls(boundTo(db, signal), view, now)).map(({ id }) => id)

const sortedSelections = selections.flatMap((selection) => sorts.map((sort) => ({ ...selection, sort })))
let compared = 0

/** Compares calls above a number with those that a condition leaves of which sums know nothing. */
async function thresholdsAreExact(db: Database, project: string, now: number): Promise<void> {
  for (const query of sampled(thresholds, compared)) {
    const view = viewOf(project, { query, sort: [by('started_at')], limit: 200 })
    const expected = await listed(db, { ...view, query: { op: 'or', operands: [query, query] } }, now)
    const name = JSON.stringify(query)
    assert.deepEqual(await listed(db, view, now), expected, name)
    assert.deepEqual(await streamed(db, view, now), expected, name)
  }
}

/**
 * Compares pages with the same of all calls, by a condition that sums do not know. Returns how many were narrowed. In
 * `npm test` each call compares another fourth of the views.
 */
async function pagesAreExact(db: Database, project: string, now: number): Promise<number> {
  let narrowed = 0
  await thresholdsAreExact(db, project, now)
  for (const selection of sampled(sortedSelections, compared++)) {
    const whole = viewOf(project, selection)
    const all = await listed(
      db,
      {
        ...whole,
        filters: [...whole.filters, { op_names: [...ops, 'other', 'weave:///acme/x/op/none:v0'] }],
      },
      now,
    )
    for (const [limit, offset] of [
      [3, 0],
      [2, 5],
    ] as const) {
      const view = { ...whole, limit, offset }
      assert.ok(isSortedByLargest(view))
      const expected = all.slice(offset, offset + limit)
      const name = JSON.stringify({ ...selection, limit, offset })
      const query = await largestQuery(boundTo(db, signal), view, now)
      if (query !== undefined) {
        narrowed++
        const rows = await db.all<{ id: string }>(selectCalls(db, query, columns, now))
        assert.deepEqual(
          rows.map(({ id }) => id),
          expected,
          name,
        )
      }
      assert.deepEqual(await listed(db, view, now), expected, name)
      assert.deepEqual(await streamed(db, view, now), expected, name)
    }
  }
  return narrowed
}

/** The campaign of which a long file runs the whole. */
export function largestAfterWrites(open: Driver['open']): void {
  test('are found in few hours, and are those of all calls after random writes, deletions and sweeps', async (t) => {
    const db = await open(t)
    let narrowed = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(written, { minLength: 60, maxLength: 160 }),
        fc.array(written, { maxLength: 6 }),
        async (first, later) => {
          const project = newProject()
          // Another fourth of the views at each step than before.
          compared++
          await db.write('addPrices', [priceFrom(project, 0, 0.001)])
          await db.write(
            'upsertCalls',
            first.map((call, n) => partOf(project, n, call)),
          )
          await pagesAreExact(db, project, expiry - 1)
          await sumAll(boundTo(db, signal))
          narrowed += await pagesAreExact(db, project, expiry - 1)
          narrowed += await pagesAreExact(db, project, expiry)
          // Calls end late, are written again in other hours, and are deleted.
          await db.write(
            'upsertCalls',
            later.map((call, n) => partOf(project, n * 5, { ...call, latency: call.latency ?? 9_000 })),
          )
          const ids = [1, 2, 3, 50].map(idOf)
          await db.write('deleteCalls', { project_id: project, ids, now: from })
          narrowed += await pagesAreExact(db, project, expiry - 1)
          await db.write('addPrices', [priceFrom(project, 60, -0.002)])
          await pagesAreExact(db, project, expiry - 1)
          await db.write('sweepCalls', { now: expiry + 1, forgetBefore: expiry, limit: 3, bytes: 1e9 })
          await pagesAreExact(db, project, expiry - 1)
          await sumAll(boundTo(db, signal))
          narrowed += await pagesAreExact(db, project, expiry)
          assert.deepEqual(await wrongSums(db), [])
        },
      ),
      { ...tried({ share: 2, whole: 3 }), endOnFailure: true },
    )
    assert.ok(narrowed > (isWhole ? 50 : 12), `${narrowed} pages were narrowed`)
  })
}

export function largestCalls(open: Driver['open']): void {
  describe('the largest calls', () => {
    largestAfterWrites(open)

    /** One call in each hour of ten days. The latencies of hours differ, and the number of tokens is the same in all. */
    async function oneInEachHour(db: Database) {
      const project = newProject()
      const calls = Array.from({ length: 240 }, (_, n) => ({
        ...{ hour: n, latency: 10 * ((n * 77) % 240), input: 7, first: n % 100 === 0 ? n : null },
        ...{ cost: null, op_name: 'ask', isChild: false, expires: false },
      }))
      await db.write(
        'upsertCalls',
        calls.map((call, n) => partOf(project, n, call, plainId(n))),
      )
      await sumAll(boundTo(db, signal))
      const hours = async (view: Partial<CallsView>, now = expiry) => {
        const whole = viewOf(project, view)
        const found = isSortedByLargest(whole)
          ? await largestHours(boundTo(db, signal), whole, now)
          : undefined
        return found?.ranges.flatMap(({ from: at, end }) =>
          Array.from({ length: (end - at) / hour }, (_, n) => (at - from) / hour + n),
        )
      }
      const slowest = calls.toSorted((call, other) => other.latency - call.latency).map((call) => call.hour)
      return { project, hours, slowest }
    }

    const inOrder = (hours: readonly number[]) => hours.toSorted((at, other) => at - other)

    test('are looked for in as many hours as the page has places, unless these have too many of the calls', async (t) => {
      const db = await open(t)
      const { hours, slowest } = await oneInEachHour(db)
      assert.deepEqual(await hours({ sort: [latency], limit: 5 }), inOrder(slowest.slice(0, 5)))
      assert.deepEqual(await hours({ sort: [latency], limit: 5, offset: 20 }), inOrder(slowest.slice(0, 25)))
      assert.equal((await hours({ sort: [latency], limit: 80 }))?.length, 80)
      assert.equal(await hours({ sort: [latency], limit: 81 }), undefined)
      // Of equal values the ids decide, which are compared if nothing else is sorted by.
      assert.equal((await hours({ sort: [by('input_tokens')], limit: 5 }))?.length, 5)
      assert.equal(await hours({ sort: [by('input_tokens'), by('op')], limit: 5 }), undefined)
      assert.equal((await hours({ sort: [latency], limit: 5, filters: [{ op_names: ops }] }))?.length, 5)
      const fastest = { sort: [by('summary.weave.latency_ms', 'asc')], limit: 5 }
      assert.deepEqual(await hours(fastest), inOrder(slowest.slice(-5)))
      for (const field of ['op', 'svc_user_id', 'storage_size_bytes'])
        for (const direction of ['asc', 'desc'] as const)
          assert.equal((await hours({ sort: [by(field, direction)], limit: 5 }))?.length, 5)
      // Calls without a value are last.
      assert.equal((await hours({ sort: [by('first_token_ms')], limit: 3 }))?.length, 3)
      assert.equal(await hours({ sort: [by('first_token_ms')], limit: 4 }), undefined)
      const others: Partial<CallsView>[] = [
        { sort: [by('first_token_ms', 'asc')], limit: 5 },
        { sort: [by('svc_user_id')], limit: 5, query: equals('op', 'ask') },
        { sort: [by('started_at'), latency], limit: 5 },
        { sort: [latency] },
        { sort: [latency], limit: 5, offset: 5_000 },
        { sort: [latency], limit: 5, query: equals('exception', 'x') },
        { sort: [latency], limit: 5, filters: [{ op_names: ['weave:///acme/x/op/ask:v0'] }] },
      ]
      for (const view of others) assert.equal(await hours(view), undefined, JSON.stringify(view))
    })

    test('above a number are looked for in the hours that have one, and in those written since', async (t) => {
      const db = await open(t)
      const { project, slowest } = await oneInEachHour(db)
      const found = async (value: number) => {
        const view = { project, filters: [], query: above('summary.weave.latency_ms', value) }
        const reaching = await reachingHours(boundTo(db, signal), view, expiry)
        assert.ok(reaching?.isFew)
        const rows = await db.all<{ id: string }>(
          sql`SELECT id FROM calls WHERE project_id = ${project} AND ${reaching.condition}`,
        )
        return rows.map(({ id }) => id).sort()
      }
      assert.deepEqual(await found(2_391), [])
      assert.deepEqual(await found(2_360), slowest.slice(0, 4).map(plainId).sort())
      const changed = slowest.at(-1) ?? 0
      const end = { ...{ hour: changed, latency: 9_000, input: 7, first: null }, cost: null }
      const call = { ...end, op_name: 'ask', isChild: false, expires: false }
      await db.write('upsertCalls', [partOf(project, changed, call, plainId(changed))])
      assert.deepEqual(await found(2_391), [plainId(changed)])
      await sumAll(boundTo(db, signal))
      assert.deepEqual(await found(2_391), [plainId(changed)])
      for (const query of [above('op', 1), above('input_tokens', 5, 'lt')]) {
        const view = { project, filters: [], query }
        assert.equal(await reachingHours(boundTo(db, signal), view, expiry), undefined)
      }
    })

    test('of equal values are looked for on all days if anything but the id is sorted by, too', async (t) => {
      const db = await open(t)
      const project = newProject()
      const calls = Array.from({ length: 240 }, (_, n) => ({
        ...{ hour: n, latency: 10, input: n % 24 === 0 ? 100 : 7, first: null, cost: null },
        ...{ op_name: 'ask', isChild: false, expires: false },
      }))
      const parts = calls.map((call, n) => partOf(project, n, call, plainId(n)))
      await db.write('upsertCalls', parts)
      await sumAll(boundTo(db, signal))
      for (const direction of ['asc', 'desc'] as const) {
        const view = viewOf(project, { sort: [by('input_tokens'), by('started_at', direction)], limit: 3 })
        const days = [0, 24, 48, 72, 96, 120, 144, 168, 192, 216]
        const expected = (direction === 'asc' ? days : days.toReversed()).slice(0, 3).map(plainId)
        for (const read of [listed, streamed])
          assert.deepEqual(await read(db, view, expiry), expected, direction)
      }
    })

    test('by cost are added up again after prices have changed, some hours at a time', async (t) => {
      const db = await open(t)
      const { project, hours } = await oneInEachHour(db)
      const dearest = { sort: [by('cost')], limit: 4 }
      const counted = { project, filters: [], query: undefined }
      assert.equal(await hours(dearest), undefined, 'nothing costs anything')
      // From then on they cost more.
      await db.write('addPrices', [priceFrom(project, 0, 0.001), priceFrom(project, 236, 0.002)])
      const rest = sql`SELECT at FROM call_sum_marks WHERE project_id = ${project}`
      let rounds = 0
      for (; (await db.all(rest)).length > 0; rounds++) {
        assert.deepEqual(await wrongSums(db), [])
        await sumAll(boundTo(db, signal))
        const sums = await readSums(boundTo(db, signal), counted, { field: undefined }, expiry)
        assert.equal(sums?.[0]?.figures.calls, 240, 'counts are not delayed by prices')
      }
      assert.ok(rounds > 3, `${rounds} rounds`)
      assert.deepEqual(await hours(dearest), [236, 237, 238, 239])
      const view = viewOf(project, dearest)
      assert.deepEqual(await listed(db, view, expiry), [239, 238, 237, 236].map(plainId))
      const [price] = await pricesOfProject(db, project)
      await db.write('removePrices', { project_id: project, ids: [price?.id ?? ''] })
      assert.equal(await hours(dearest), undefined, 'those of other prices are not used')
      while ((await db.all(rest)).length > 0) await sumAll(boundTo(db, signal))
      const digests = sql`SELECT DISTINCT substr(max_cost, 1, 16) AS digest FROM call_sums WHERE project_id = ${project}`
      assert.equal((await db.all(digests)).length, 1)
    })

    test('are also looked for in hours that were written since, or whose largest is not known', async (t) => {
      const db = await open(t)
      const { project, hours, slowest } = await oneInEachHour(db)
      const [first = 0, second = 0, ...others] = slowest
      const five = { sort: [latency], limit: 5 }
      await db.write('deleteCalls', { project_id: project, ids: [plainId(first)], now: expiry })
      assert.deepEqual(await hours(five), inOrder(slowest.slice(0, 6)), 'the deleted one does not count')
      const key = ['project_id', 'span', 'field', 'at', 'kind', 'value']
      const table = { name: 'call_sums', columns: [...key, 'calls', 'figures', 'max_latency'], key }
      const unknown = others.at(-1) ?? 0
      const figures = '[0,0,0,0,0,0,[],[],[]]'
      const rows = [hour, day].map((span) => {
        const at = startOf(from + unknown * hour, span)
        return [project, span, '', at, 'root judge', '', 1, figures, null]
      })
      await db.write('copyRows', { table, rows })
      assert.deepEqual(await hours(five), inOrder([...slowest.slice(0, 6), unknown]))
      await sumAll(boundTo(db, signal))
      assert.deepEqual(await hours(five), inOrder([...slowest.slice(1, 6), unknown]))
      assert.equal(second, slowest[1])
    })

    test('are those of the whole list if some were deleted after sums were read', async (t) => {
      const db = await open(t)
      const { project, slowest } = await oneInEachHour(db)
      const view = viewOf(project, { sort: [latency], limit: 5, offset: 1 })
      for (const [n, read] of [listed, streamed].entries()) {
        const gone = slowest.slice(4 * n, 4 * n + 4).map(plainId)
        let narrowed = 0
        const stream: Database['stream'] = async function* (query, options) {
          if (
            /ranges CROSS JOIN .*calls/s.test(query.text) &&
            !query.text.includes('call_sums') &&
            narrowed++ === 0
          )
            await db.write('deleteCalls', { project_id: project, ids: gone, now: from })
          yield* db.stream(query, options)
        }
        const left = slowest.slice(4 * n + 4).map(plainId)
        assert.deepEqual(await read({ ...db, stream }, view, expiry), left.slice(1, 6))
        assert.equal(narrowed, 1)
      }
    })

    test('are those of the whole list if sums were stored between those of days and of hours', async (t) => {
      const db = await open(t)
      const { project, slowest } = await oneInEachHour(db)
      const dayOf = (n: number) => Math.floor(n / 24)
      const [first = 0] = slowest
      const gone = slowest.filter((n) => dayOf(n) === dayOf(first)).slice(0, 2)
      const expected = slowest.filter((n) => !gone.includes(n)).slice(0, 1)
      assert.notEqual(dayOf(expected[0] ?? 0), dayOf(first))
      let times = 0
      const stream: Database['stream'] = async function* (query, options) {
        if (/AS ranges CROSS JOIN .*call_sums/s.test(query.text) && times++ === 0) {
          await db.write('deleteCalls', { project_id: project, ids: gone.map(plainId), now: from })
          await sumAll(boundTo(db, signal))
        }
        yield* db.stream(query, options)
      }
      const view = viewOf(project, { sort: [latency], limit: 1 })
      assert.deepEqual(await listed({ ...db, stream }, view, expiry), expected.map(plainId))
      assert.equal(times, 1)
    })

    test('are checked, and added up again where they are wrong', async (t) => {
      const db = await open(t)
      const { project } = await oneInEachHour(db)
      assert.deepEqual(await wrongSums(db), [])
      const all = sql`SELECT * FROM call_sums WHERE project_id = ${project}`
      for (const wrong of [null, '', '20000000000000008call 0']) {
        const stored = await db.all<Record<string, string | number | null>>(all)
        const columns = Object.keys(stored[0] ?? {})
        const rows = stored.map((sum) => {
          const isFirst = Number(sum.span) === hour && Number(sum.at) === from && sum.field === ''
          return columns.map((column) => (isFirst && column === 'max_input' ? wrong : (sum[column] ?? null)))
        })
        const table = {
          name: 'call_sums',
          columns,
          key: ['project_id', 'span', 'field', 'at', 'kind', 'value'],
        }
        await db.write('clearRows', { table, most: 10_000 })
        await db.write('copyRows', { table, rows })
        const found = await wrongSums(db)
        assert.deepEqual(found, [{ project_id: project, day: from, hours: [from] }])
        for (const sums of found) await db.write('markWrongSums', sums)
        await sumAll(boundTo(db, signal))
        assert.deepEqual(await wrongSums(db), [])
      }
    })
  })
}
