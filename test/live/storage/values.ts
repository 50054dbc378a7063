import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { JsonNumber } from '../../../packages/json/index.ts'
import { parseExpression } from '../../../src/domain/expressions/parse.ts'
import { readSearch } from '../../../src/domain/search/search-text.ts'
import { readSpanGroups } from '../../../src/storage/agents/span-groups.ts'
import { readSpanStats } from '../../../src/storage/agents/span-stats.ts'
import { countSpans, readSpans } from '../../../src/storage/agents/spans.ts'
import { type CallRow, selectCalls } from '../../../src/storage/calls/calls.ts'
import {
  type CallsView,
  callsQueryOf,
  statsOfCalls,
  streamCalls,
} from '../../../src/storage/calls/queries.ts'
import type { Database } from '../../../src/storage/database.ts'
import { callPages } from '../../../src/storage/exporting/pages.ts'
import type { NewFeedback } from '../../../src/storage/feedback/writes.ts'
import { valueCandidates } from '../../../src/storage/search/candidates.ts'
import { findCalls, indexCoverage } from '../../../src/storage/search/found-calls.ts'
import type { Sql } from '../../../src/storage/sql/sql.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { readCallSums, readUsageSums } from '../../../src/storage/views/call-sums.ts'
import { streamCallUsage } from '../../../src/storage/views/call-usage.ts'
import { streamDocuments } from '../../../src/storage/views/documents.ts'
import { readFeedbackBuckets } from '../../../src/storage/views/feedback-buckets.ts'
import { topFeedbackGroups } from '../../../src/storage/views/feedback-groups.ts'
import { largestGroups, readBuckets, topGroups, topValues } from '../../../src/storage/views/groups.ts'
import { countLightCalls, readLightCalls } from '../../../src/storage/views/light-calls.ts'
import { streamThreads } from '../../../src/storage/views/threads.ts'
import { readTokenSums } from '../../../src/storage/views/token-sums.ts'
import { newProject, startedAt, startPart, wholePart } from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'
import { endless, tokens, words, written } from '../../support/expression-samples.ts'

const { signal } = new AbortController()
const now = startedAt
const columns = { large: new Set<never>(), totalStorageSize: false }

async function indexed(db: Database): Promise<void> {
  while (await db.writeInBackground('indexCalls', { limit: 64, characters: 1 << 20 }));
}

const field = (name: string) => ({ $getField: name })
const literal = (value: unknown) => ({ $literal: value })
const equals = (name: string, value: unknown) => ({ $eq: [field(name), literal(value)] })

function viewOf(project: string, condition: object): CallsView {
  const query = parseExpression({ $expr: condition })
  return { project, filters: [], query, sort: [], limit: null, offset: 0 }
}

async function idsIn(rows: AsyncIterable<Pick<CallRow, 'id'>[]>): Promise<string[]> {
  const ids: string[] = []
  for await (const some of rows) ids.push(...some.map(({ id }) => id))
  return ids.sort()
}

/** The same with and without the index: what it narrows a list to, and what is found. */
async function both(db: Database, project: string, condition: object) {
  const view = viewOf(project, condition)
  const narrowed = await valueCandidates(boundTo(db, signal), view)
  const candidates = narrowed && (JSON.parse(narrowed.values[0] as string) as string[]).sort()
  const found = await idsIn(streamCalls(boundTo(db, signal), view, columns, now))
  const whole = await idsIn(
    db.stream<CallRow>(selectCalls(db, callsQueryOf(db, view), columns, now), { signal }),
  )
  assert.deepEqual(found, whole, JSON.stringify(condition))
  return { candidates, found }
}

/** What is read of a view, by name, and the queries that were made for it. */
function readsOf(record: Database, view: CallsView) {
  const asked: Sql[] = []
  const db: Database = {
    ...record,
    stream(query, options) {
      asked.push(query)
      return record.stream(query, options)
    },
  }
  const all = async <Row>(rows: AsyncIterable<Row[]>) => (await Array.fromAsync(rows)).flat()
  const range = { from: startedAt, step: 6, end: startedAt + 12 }
  const edges = [range.from, range.from + range.step, range.end]
  const sums = { ...view, start: range.from, end: range.end, edges, limit: 10 }
  const figures = { names: new Map([['sum', 'sum']] as const), percentiles: new Map<number, string>() }
  const by = { field: 'op', values: ['op-0', 'op-1', 'op-2'] } as const
  const bounds = { most: 10, sample: 10 }
  const { project, query } = view
  const threads = {
    ...{ project, query, threads: undefined, after: undefined, before: undefined },
    ...{ limit: 10, offset: 0 },
  }
  const named = { ...threads, threads: ['thread-0', 'thread-1', 'thread-2'] }
  const byCost = { ...threads, sort: [{ field: 'cost', direction: 'desc' }] } as const
  const spans = { ...threads, ...viewOf(project, equals('customer', 0)), from: undefined }
  const duration = { field: 'duration_ms', isAttribute: false }
  const grouped = { keys: [{ ...duration, name: 'took' }], costs: false, measures: [], bounds: [] }
  const timed = { ...figures, ...duration, requestPath: 'metrics.0', isText: false }
  const reaction = viewOf(project, {
    $and: [
      equals('inputs.customer', 0),
      { $eq: [field('feedback.[wandb.reaction.1].payload.emoji'), literal('+')] },
    ],
  }).query
  const reads = {
    calls: () => all(streamCalls(boundTo(db, signal), view, columns, now)),
    'a page': () => readLightCalls(boundTo(db, signal), view, now),
    'a count': () => countLightCalls(boundTo(db, signal), view, 10, now),
    statistics: () => statsOfCalls(boundTo(db, signal), view, now),
    'an export': () => all(callPages(boundTo(db, signal), view, undefined, now)),
    groups: () => topGroups(boundTo(db, signal), view, ['op'], { most: 10 }, now),
    'groups of a chart': () =>
      largestGroups(boundTo(db, signal), view, { ...range, field: 'op', costs: true }, now),
    'values inside': () => topValues(boundTo(db, signal), view, 'inputs.customer', bounds, now),
    buckets: () => readBuckets(boundTo(db, signal), { ...view, edges, by, timed: 'latency' }, now),
    tokens: () => readTokenSums(boundTo(db, signal), { ...view, ...range, by, dates: [] }, now),
    'sums of usage': () =>
      readUsageSums(boundTo(db, signal), sums, [{ ...figures, column: 'total_tokens' }], now),
    'sums of calls': () =>
      readCallSums(boundTo(db, signal), sums, [{ ...figures, column: 'call_count' }], now),
    'usage of calls': () => all(streamCallUsage(boundTo(db, signal), { ...view, limit: 10 }, now)),
    documents: () => all(streamDocuments(boundTo(db, signal), view, 10, now)),
    'groups of feedback': () => topFeedbackGroups(boundTo(db, signal), view, 'reaction', bounds, now),
    'buckets of feedback': () =>
      readFeedbackBuckets(boundTo(db, signal), { ...view, ...range, most: 10 }, now),
    conversations: () => all(streamThreads(boundTo(db, signal), { ...threads, sort: [] }, now)),
    'named conversations': () => all(streamThreads(boundTo(db, signal), { ...named, sort: [] }, now)),
    'conversations by cost': () => all(streamThreads(boundTo(db, signal), byCost, now)),
    spans: () => readSpans(boundTo(db, signal), spans, { costs: false, documents: false }, now),
    'a count of spans': () => countSpans(boundTo(db, signal), spans, now),
    'groups of spans': () => readSpanGroups(boundTo(db, signal), { ...spans, ...grouped }, now),
    'figures of spans': () =>
      readSpanStats(boundTo(db, signal), { ...spans, edges, keys: [], limit: 10 }, [timed], now),
    'conversations with a reaction': () =>
      all(streamThreads(boundTo(db, signal), { ...threads, query: reaction, sort: [] }, now)),
  }
  const search = async () => {
    const hits = await findCalls(
      boundTo(db, signal),
      { ...view, limit: 10 },
      readSearch('said'),
      undefined,
      now,
    )
    return hits.map(({ id }) => id)
  }
  return { asked, search, reads }
}

function reactionTo(project: string, call: string): NewFeedback {
  const nothing = {
    ...{ creator: null, annotation_ref: null, runnable_ref: null, thread_id: null },
    ...{ call_ref: null, trigger_ref: null, queue_id: null },
  }
  const record = {
    ...{ project_id: project, id: `${call}-reaction`, feedback_type: 'wandb.reaction.1', user_id: 'alice' },
    ...{ svc_ref: `weave:///${project}/call/${call}`, call_id: call, created_at: startedAt },
    ...{ payload: '{"emoji":"+"}', ...nothing },
  }
  return { record, field: 'id' }
}

export function values(open: Driver['open']): void {
  describe('calls found by a value inside of them', () => {
    test('a value is found in every spelling, and only calls that may have it are read', async (t) => {
      const db = await open(t)
      const project = newProject()
      const texts = words.flatMap((word) => [written(word, false), written(word, true)])
      const all = [...texts, ...tokens, ...endless, 'true', 'false', 'null', '{"x":"5"}', '["5"]']
      const spelled = (value: string) => ({
        inputs: `{"a":${value},"b":{"d":${value}},"c":[${value}]}`,
        attributes: `{"env":${value},"0":${value}}`,
      })
      const parts = all.map((value, n) => wholePart(project, `call-${n}`, spelled(value), { output: value }))
      for (let from = 0; from < parts.length; from += 50)
        await db.write('upsertCalls', parts.slice(from, from + 50))
      await indexed(db)
      const fields = ['inputs.a', 'inputs.b.d', 'inputs.c.0', 'output', 'attributes.env', 'attributes.0']
      const sought = [
        ...words,
        ...tokens.map((token) => new JsonNumber(token)),
        ...['4242', '{"x":"5"}', '["5"]', 'x'.repeat(200)],
      ]
      let narrowed = 0
      for (const [n, value] of sought.entries()) {
        const name = fields[n % fields.length] as string
        const condition = n % 2 === 0 ? equals(name, value) : { $eq: [literal(value), field(name)] }
        const { candidates, found } = await both(db, project, condition)
        if (candidates === undefined) continue
        narrowed++
        for (const id of found) assert.ok(candidates.includes(id))
        assert.ok(candidates.length < all.length / 4, `${candidates.length} for ${String(value)}`)
      }
      assert.ok(narrowed > sought.length / 3, `${narrowed} of ${sought.length}`)
      const several = { $in: [field('attributes.env'), [literal(5), literal('abc'), literal(1000)]] }
      const { candidates, found } = await both(db, project, several)
      assert.ok(found.length > 3)
      assert.deepEqual(candidates, found)
      for (const [first, second] of [
        ['inputs.a', 'attributes.env'],
        ['output', 'inputs.b.d'],
        ['inputs.a', 'inputs.a'],
      ] as const) {
        const either = await both(db, project, { $or: [equals(first, 5), equals(second, 'abc')] })
        const each = [equals(first, 5), equals(second, 'abc')].map((one) => both(db, project, one))
        const known = (await Promise.all(each)).flatMap(({ candidates }) => candidates ?? [])
        assert.deepEqual(either.candidates, [...new Set(known)].sort())
      }
      for (const condition of [
        { $not: [equals('inputs.a', 5)] },
        { $or: [equals('inputs.a', 5), equals('op_name', 'abc')] },
        { $or: [equals('inputs.a', 5), { $gt: [field('output'), literal(5)] }] },
        { $in: [field('inputs.a'), [literal(5), literal(null)]] },
        equals('inputs.a', true),
        equals('inputs.a', null),
        equals('inputs.a', ''),
        { $gt: [field('inputs.a'), literal(5)] },
      ])
        assert.equal((await both(db, project, condition)).candidates, undefined)
    })

    test('conditions that all must hold narrow together, and tenants stay apart', async (t) => {
      const db = await open(t)
      const [project, other] = [newProject(), newProject()]
      const call = (where: string, id: string, customer: number, env: string) =>
        startPart(where, id, { inputs: `{"customer":${customer}}`, attributes: `{"env":"${env}"}` })
      await db.write('upsertCalls', [
        call(project, 'a', 1, 'prod'),
        call(project, 'b', 1, 'test'),
        call(project, 'c', 2, 'prod'),
        call(other, 'd', 1, 'prod'),
      ])
      await indexed(db)
      const condition = { $and: [equals('inputs.customer', 1), equals('attributes.env', 'prod')] }
      assert.deepEqual(await both(db, project, condition), { candidates: ['a'], found: ['a'] })
      assert.deepEqual(await both(db, other, condition), { candidates: ['d'], found: ['d'] })
      const view = viewOf(project, condition)
      assert.deepEqual(
        (await readLightCalls(boundTo(db, signal), view, now)).map(({ id }) => id),
        ['a'],
      )
      assert.equal(Number((await statsOfCalls(boundTo(db, signal), view, now)).count), 1)
      const nothing = { candidates: [], found: [] }
      assert.deepEqual(await both(db, newProject(), condition), nothing)
      assert.deepEqual(await both(db, project, equals('inputs.env', 'prod')), nothing)
    })

    test('a call that is not indexed, or not wholly, is always looked at', async (t) => {
      const db = await open(t)
      const project = newProject()
      const customer = (id: string, more = '') => startPart(project, id, { inputs: `{"customer":1${more}}` })
      const many = Array.from({ length: 70 }, (_, n) => `,"k${n}":${n}`).join('')
      await db.write('upsertCalls', [
        customer('many', many),
        customer('long', `,"text":"${'long '.repeat(40_000)}"`),
        startPart(project, 'other', { inputs: '{"customer":2}' }),
      ])
      const asked = equals('inputs.customer', 1)
      assert.deepEqual(await both(db, project, asked), {
        candidates: ['long', 'many', 'other'],
        found: ['long', 'many'],
      })
      await indexed(db)
      const large = ['long', 'many']
      assert.deepEqual(await both(db, project, asked), { candidates: large, found: large })
      assert.deepEqual((await both(db, project, equals('attributes.customer', 1))).candidates, [])
      // Changed, and not indexed since.
      await db.write('upsertCalls', [customer('other')])
      assert.deepEqual((await both(db, project, asked)).found, ['long', 'many', 'other'])
      await indexed(db)
      assert.deepEqual((await both(db, project, asked)).candidates, ['long', 'many', 'other'])
      await db.write('renewSearch', { project_id: '' })
      assert.equal((await both(db, project, asked)).candidates, undefined)
      await indexed(db)
      assert.deepEqual((await both(db, project, asked)).candidates, ['long', 'many', 'other'])
      await db.write('switchSearch', { isOn: false })
      assert.equal((await both(db, project, asked)).candidates, undefined)
    })

    test('projects that are indexed again are known by the order of the database', async (t) => {
      const db = await open(t)
      const name = newProject()
      // In UTF-16 the second would come before the first.
      const [first, second] = [`${name}\uff5e`, `${name}\u{1f600}`] as const
      await db.write('upsertCalls', [startPart(second, 'a', { inputs: '{"customer":1}' })])
      await indexed(db)
      const asked = equals('inputs.customer', 1)
      assert.deepEqual((await both(db, second, asked)).candidates, ['a'])
      await db.write('renewSearch', { project_id: first })
      assert.equal((await both(db, second, asked)).candidates, undefined)
      assert.equal(await indexCoverage(db, second), 'some')
      await indexed(db)
      assert.deepEqual((await both(db, second, asked)).candidates, ['a'])
      assert.equal(await indexCoverage(db, second), 'all')
    })

    test('whatever is read of a view is narrowed, and is the same as without the index', async (t) => {
      const db = await open(t)
      const project = newProject()
      const call = (n: number) => ({
        ...{ inputs: `{"customer":${n % 4}}`, attributes: `{"customer":${n % 4}}`, op_name: `op-${n % 3}` },
        ...{ thread_id: `thread-${n % 5}`, started_at: startedAt + n },
      })
      const end = {
        summary: '{"usage":{"model-1":{"prompt_tokens":5,"completion_tokens":2}}}',
        output: '"said"',
      }
      await db.write(
        'upsertCalls',
        Array.from({ length: 12 }, (_, n) => wholePart(project, `call-${n}`, call(n), end)),
      )
      await db.write(
        'addFeedback',
        [4, 6, 8].map((n) => reactionTo(project, `call-${n}`)),
      )
      await indexed(db)
      const { asked, search, reads } = readsOf(db, viewOf(project, equals('inputs.customer', 0)))
      const shown = async () => {
        const answers: Record<string, unknown> = {}
        for (const [name, read] of Object.entries(reads)) answers[name] = await read()
        return answers
      }
      const isNarrowed = () =>
        asked.some(({ values }) => values.some((value) => /^\["call-\d"/.test(String(value))))
      const narrowed = new Set<string>()
      for (const [name, read] of Object.entries(reads)) {
        asked.length = 0
        assert.notDeepEqual(await read(), [], name)
        if (isNarrowed()) narrowed.add(name)
      }
      assert.deepEqual([...narrowed], Object.keys(reads))
      const found = await shown()
      asked.length = 0
      assert.deepEqual(await search(), ['call-8', 'call-4', 'call-0'])
      assert.ok(isNarrowed())
      await db.write('switchSearch', { isOn: false })
      asked.length = 0
      assert.deepEqual(await shown(), found)
      assert.ok(!isNarrowed())
    })

    test('an export shows what is written while it is read', async (t) => {
      const db = await open(t)
      const project = newProject()
      const call = (n: number) =>
        startPart(project, `call-${n}`, { inputs: '{"customer":1}', started_at: startedAt + n })
      const upTo = async (from: number, end: number) => {
        for (let n = from; n < end; n += 500)
          await db.write(
            'upsertCalls',
            Array.from({ length: 500 }, (_, at) => call(n + at)),
          )
      }
      await upTo(0, 2_000)
      await indexed(db)
      const view = viewOf(project, equals('inputs.customer', 1))
      const ids: string[] = []
      for await (const rows of callPages(boundTo(db, signal), view, undefined, now)) {
        if (ids.length === 0) await upTo(2_000, 2_500)
        ids.push(...rows.map(({ id }) => id))
      }
      assert.deepEqual(
        ids,
        Array.from({ length: 2_500 }, (_, n) => `call-${n}`),
      )
    })

    test('a value that very many calls have is not narrowed', async (t) => {
      const db = await open(t)
      const project = newProject()
      for (let from = 0; from < 2_100; from += 300) {
        const ids = Array.from({ length: 300 }, (_, n) => from + n)
        const inputs = (n: number) => ({ inputs: `{"n":${n},"env":"prod"}` })
        await db.write(
          'upsertCalls',
          ids.map((n) => startPart(project, `call-${n}`, inputs(n))),
        )
      }
      await indexed(db)
      const common = await both(db, project, equals('inputs.env', 'prod'))
      assert.deepEqual([common.candidates, common.found.length], [undefined, 2_100])
      const rare = { $and: [equals('inputs.env', 'prod'), equals('inputs.n', 7)] }
      assert.deepEqual(await both(db, project, rare), { candidates: ['call-7'], found: ['call-7'] })
    })
  })
}
