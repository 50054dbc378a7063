import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Expression } from '../../../src/domain/expressions/expression.ts'
import { sumAll } from '../../../src/operations/calls/sums.ts'
import type { CallPart } from '../../../src/storage/calls/parts.ts'
import { type CallsView, statsOfCalls } from '../../../src/storage/calls/queries.ts'
import type { Database } from '../../../src/storage/database.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { findWrongSums } from '../../../src/storage/sums/check.ts'
import { newPass, type StoredSum, sumUp, sumUpDay } from '../../../src/storage/sums/keeping.ts'
import { type MarkedHour, markedHours, stillMarked } from '../../../src/storage/sums/marks.ts'
import { narrowing } from '../../../src/storage/sums/narrowing.ts'
import { readSums, totalOfCalls } from '../../../src/storage/sums/reading.ts'
import { day, hour, startOf } from '../../../src/storage/sums/spans.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import type { BucketPart } from '../../../src/storage/views/bucket-parts.ts'
import { groupFields, readBuckets, topGroups } from '../../../src/storage/views/groups.ts'
import { readLightCalls } from '../../../src/storage/views/light-calls.ts'
import { summedBuckets, summedTokens } from '../../../src/storage/views/summed-groups.ts'
import { readTokenSums } from '../../../src/storage/views/token-sums.ts'
import { endPart, newProject, startedAt, startPart, wholePart } from '../../support/call-parts.ts'
import { tried } from '../../support/campaign-share.ts'
import type { Driver } from '../../support/drivers.ts'

const signal = new AbortController().signal
const from = startOf(startedAt, day)
const expiry = from + 2 * day

const ids = ['a', 'b', 'c', 'd', 'e']
const fields = fc.record({
  op_name: fc.constantFrom('ask', 'answer', 'Evaluation.predict_and_score', 'heddle.judge'),
  trace_id: fc.constantFrom('t1', 't2'),
  parent_id: fc.constantFrom(null, null, 'a', 'b'),
  started_at: fc.nat({ max: 40 }).map((n) => from + n * (hour - 1)),
  expire_at: fc.constantFrom(null, null, expiry),
  user_id: fc.constantFrom('alice', 'bob'),
  inputs: fc.constantFrom('{}', '{"model":"asked"}'),
  start_bytes: fc.nat({ max: 900 }),
})
const ends = fc.record({
  ended_at: fc.nat({ max: 9 }).map((n) => from + 40 * hour + 10 ** n),
  exception: fc.constantFrom(null, null, 'it failed'),
  summary: fc.constantFrom(
    '{}',
    '{"usage":{"m":{"prompt_tokens":3,"completion_tokens":4}},"heddle":{"first_token_ms":7}}',
    '{"usage":{"m":{"prompt_tokens":1},"n":{"prompt_tokens":2}}}',
    '{"usage":{"m":{"prompt_tokens":1,"total_cost":0.1}}}',
    '{"usage":{"n":{"prompt_tokens":1,"total_cost":0.000000007}}}',
  ),
})
const id = fc.constantFrom(...ids)

type Step = (db: Database, project: string) => Promise<unknown>
const write = (parts: readonly ((project: string) => CallPart)[]): Step => {
  return (db, project) => {
    const made = new Map(parts.map((make) => make(project)).map((part) => [part.id, part]))
    return db.write('upsertCalls', [...made.values()])
  }
}
const part = fc.oneof(
  fc.tuple(id, fields).map(
    ([call, start]) =>
      (project: string) =>
        startPart(project, call, start),
  ),
  fc.tuple(id, ends).map(
    ([call, end]) =>
      (project: string) =>
        endPart(project, call, end),
  ),
  fc.tuple(id, fields, ends).map(
    ([call, start, end]) =>
      (project: string) =>
        wholePart(project, call, start, end),
  ),
)
const writing = fc.array(part, { minLength: 1, maxLength: 4 }).map(write)

interface AddedUp {
  keys: { project_id: string; pass: number; at: number }
  hours: Pick<MarkedHour, 'at' | 'marks'>[]
  sums: StoredSum[]
}

/** What two servers do to add up, in turns: calls are written, and the other one does its own, between any two. */
function createServers() {
  const servers = new Map<string, { next: number; days: AddedUp[] }>()
  return (server: number): Step =>
    async (db, project) => {
      const key = `${server} ${project}`
      const state = servers.get(key) ?? { next: 0, days: [] }
      servers.set(key, state)
      const turns = [
        async () => {
          while (await db.write('followMarks', { limit: 3 }));
          const turn = await db.write('turnMarks', {})
          const marked = await markedHours(boundTo(db, signal), turn)
          const own = marked.filter(({ project_id }) => project_id === project)
          state.days = await Promise.all(
            [...Map.groupBy(own, ({ at }) => startOf(at, day))].map(async ([at, hours]) => ({
              keys: { project_id: project, pass: newPass(), at },
              hours,
              sums: await sumUp(boundTo(db, signal), project, hours),
            })),
          )
        },
        async () => {
          for (const { keys, hours, sums } of state.days) await db.write('keepSums', { ...keys, hours, sums })
        },
        async () => {
          for (const of of state.days) of.sums = await sumUpDay(boundTo(db, signal), project, of.keys.at)
        },
        async () => {
          for (const { keys, sums } of state.days) await db.write('keepDay', { ...keys, sums })
        },
      ]
      await turns[state.next]?.()
      state.next = (state.next + 1) % turns.length
    }
}
const takesTurn = createServers()
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: writing },
  { weight: 8, arbitrary: fc.nat({ max: 1 }).map(takesTurn) },
  fc.constant<Step>((db) => db.write('thinMarks', {})),
  fc.array(id, { minLength: 1, maxLength: 2 }).map((calls): Step => {
    return (db, project_id) => db.write('deleteCalls', { project_id, ids: calls, now: from })
  }),
  fc.boolean().map((isLate): Step => {
    return (db) =>
      db.write('sweepCalls', {
        now: isLate ? expiry + 1 : expiry - 1,
        forgetBefore: isLate ? expiry : 0,
        limit: 3,
        bytes: 1e9,
      })
  }),
  fc.constant<Step>((db, project) => db.write('deriveAgain', { project_id: project, calls: ids, now: from })),
)

const viewOf = (project: string, roots: boolean) => ({
  ...{ project, filters: [{ trace_roots_only: roots }], query: undefined, sort: [], limit: null, offset: 0 },
})

const allOps = ['ask', 'answer', 'Evaluation.predict_and_score', 'heddle.judge']
/** Sums do not know versions. */
const versionOfNone = 'weave:///acme/x/op/none:v0'

/** The same calls by a condition that sums cannot answer. */
const withoutSums = <View extends Pick<CallsView, 'filters'>>(view: View) => ({
  ...view,
  filters: [...view.filters, { op_names: [...allOps, versionOfNone] }],
})

const edgesBy = (step: number) => {
  const end = from + 40 * hour + 1_234_567
  return [...Array.from({ length: Math.ceil((end - from) / step) }, (_, n) => from + n * step), end]
}

/** Parts of a bucket come in any number and order. */
function totals(parts: readonly BucketPart[]) {
  const all = new Map<string, number[]>()
  for (const { bucket, group, bin, count, errors, ended, micros, input_tokens, output_tokens } of parts) {
    const add = (key: string, numbers: number[]) =>
      all.set(
        key,
        numbers.map((number, n) => number + (all.get(key)?.[n] ?? 0)),
      )
    add(`${bucket} ${group}`, [count, errors, ended, micros, input_tokens, output_tokens])
    if (bin !== null) add(`${bucket} ${group} ${bin}`, [count])
  }
  return [...all].sort(([key], [other]) => (key < other ? -1 : 1))
}

async function sumsAreCounts(db: Database, project: string, now: number): Promise<void> {
  for (const view of [viewOf(project, true), viewOf(project, false)]) {
    const together = await topGroups(boundTo(db, signal), withoutSums(view), groupFields, { most: 50 }, now)
    for (const field of groupFields) {
      const sums = await readSums(boundTo(db, signal), view, { field }, now)
      assert.ok(sums, 'sums answer')
      assert.deepEqual(
        (await topGroups(boundTo(db, signal), view, [field], { most: 50 }, now)).get(field),
        together.get(field),
        field,
      )
    }
    const [total, counted] = [view, withoutSums(view)].map((each) =>
      totalOfCalls(boundTo(db, signal), each, false, now),
    )
    assert.equal((await total)?.count, Number((await counted)?.count))
    for (const [step, field] of [
      [day, 'op'],
      [hour, 'status'],
      [5 * hour, 'origin'],
      [day, 'user'],
    ] as const) {
      const edges = edgesBy(step)
      const [end, values] = [edges.at(-1) as number, ['ask', 'error', 'app', 'alice', 'descendant_error']]
      const [cuts, by] = [[from + 7 * hour, from + 30 * hour + 1], { field, values }]
      const units = await readSums(
        boundTo(db, signal),
        view,
        { field, buckets: { from, step, end }, cuts },
        now,
      )
      assert.ok(units, 'sums answer')
      for (const timed of ['latency', 'first_token'] as const) {
        const counted = await readBuckets(
          boundTo(db, signal),
          { ...withoutSums(view), edges, by, timed },
          now,
        )
        assert.deepEqual(
          totals(summedBuckets(units, { edges, by, timed })),
          totals(counted),
          `${field} ${timed}`,
        )
      }
      const span = { from, step, end, by, dates: cuts }
      const tokens = (list: Awaited<ReturnType<typeof readTokenSums>>) =>
        totals(
          list.flatMap(({ bucket, period, group, model, count, ...sums }) => {
            const { input, output, cache_read, cache_creation, stated, stated_count } = sums
            const cell = { bucket, bin: null, group: `${period} ${group} ${model}` }
            const none = { errors: 0, ended: 0, micros: 0, input_tokens: 0, output_tokens: 0 }
            const tokens = { errors: input, ended: output, micros: cache_read, input_tokens: cache_creation }
            return [
              { ...cell, ...none, count, ...tokens },
              { ...cell, ...none, group: `${cell.group} stated`, count: stated_count, output_tokens: stated },
            ]
          }),
        )
      assert.deepEqual(
        tokens(summedTokens(units, span)),
        tokens(await readTokenSums(boundTo(db, signal), { ...withoutSums(view), ...span }, now)),
      )
    }
  }
}

const condition = (field: string, value: string): Expression => ({
  ...{ op: 'compare', by: 'eq', path: 'query', left: { op: 'field', field } },
  right: { op: 'literal', literal: { kind: 'text', value, text: value } },
})

const amongst = (field: string, values: readonly string[]): Expression => ({
  ...{ op: 'in', path: 'query', operand: { op: 'field', field } },
  list: values.map((value) => ({ op: 'literal', literal: { kind: 'text', value, text: value } })),
})

/** Lists of an op or a user are the calls of all that have it, and no others are read for them. */
async function listsAreWhole(db: Database, project: string, now: number): Promise<void> {
  const idsOf = async (view: Partial<CallsView>) => {
    const found = await readLightCalls(boundTo(db, signal), { ...viewOf(project, false), ...view }, now)
    return found.map((call) => call.id)
  }
  const all = await readLightCalls(boundTo(db, signal), viewOf(project, false), now)
  for (const op of ['ask', 'answer', 'nothing']) {
    const expected = all.filter((call) => call.op_name === op).map((call) => call.id)
    assert.deepEqual(await idsOf({ filters: [{ op_names: [op] }] }), expected)
    assert.deepEqual(await idsOf({ query: condition('op', op) }), expected)
  }
  const bobs = all.filter((call) => call.user_id === 'bob').map((call) => call.id)
  assert.deepEqual(await idsOf({ query: condition('svc_user_id', 'bob') }), bobs)
  assert.deepEqual(await idsOf({ query: amongst('svc_user_id', ['bob', 'nobody']) }), bobs)
  for (const status of ['running', 'success', 'error', 'descendant_error', 'other']) {
    const expected = all.filter((call) => call.status === status).map((call) => call.id)
    assert.deepEqual(await idsOf({ query: condition('summary.weave.status', status) }), expected)
    const query: Expression = {
      op: 'or',
      operands: [condition('summary.weave.status', status), condition('svc_user_id', 'bob')],
    }
    const either = all.filter((call) => call.status === status || call.user_id === 'bob')
    assert.deepEqual(
      await idsOf({ query }),
      either.map((call) => call.id),
    )
  }
}

/** Ops that are named and statuses are those of the sums. */
async function selectedAreCounts(db: Database, project: string, now: number): Promise<void> {
  const bound = boundTo(db, signal)
  const ops = [['ask'], ['ask', 'heddle.judge', 'nothing']].map(
    (op_names) => ['op', { filters: [{ op_names }] }] as const,
  )
  const statuses = ['running', 'error', 'descendant_error'].map(
    (status) => ['status', { query: condition('summary.weave.status', status) }] as const,
  )
  const either: Expression = { op: 'or', operands: [condition('op', 'ask'), condition('op', 'nothing')] }
  const several = [
    ['op', { query: either }],
    ['user', { query: amongst('svc_user_id', ['alice', 'bob']) }],
    ['origin', { query: amongst('origin', ['judge', 'app']) }],
  ] as const
  for (const [field, selection] of [...ops, ...statuses, ...several]) {
    const view = { ...viewOf(project, false), ...selection }
    assert.ok(await readSums(bound, view, { field }, now), 'sums answer')
    const counted = await topGroups(bound, withoutSums(view), [field], { most: 50 }, now)
    assert.deepEqual(await topGroups(bound, view, [field], { most: 50 }, now), counted)
    const { count, bytes } = await statsOfCalls(bound, view, now)
    const total = { count: Number(count), bytes: Number(bytes) }
    assert.deepEqual(await totalOfCalls(bound, view, true, now), total)
    assert.deepEqual(await totalOfCalls(bound, view, false, now), { ...total, bytes: null })
  }
}

async function wrongSums(db: Database) {
  const wrong = []
  for await (const found of findWrongSums(boundTo(db, signal))) wrong.push(found)
  return wrong
}

const marksOf = (db: Database, project: string) =>
  db.all(sql`SELECT at FROM call_sum_marks WHERE project_id = ${project}`)

/** The campaign of which a long file runs the whole. */
export function sumsAfterWrites(open: Driver['open']): void {
  test('equal the calls after random writes, deletions and sweeps, whatever was added up between', async (t) => {
    const db = await open(t)
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        const project = newProject()
        for (const take of steps) await take(db, project)
        await sumsAreCounts(db, project, expiry - 1)
        await sumsAreCounts(db, project, expiry)
        await selectedAreCounts(db, project, expiry - 1)
        await listsAreWhole(db, project, expiry - 1)
        await sumAll(boundTo(db, signal))
        assert.deepEqual(await marksOf(db, project), [])
        await sumsAreCounts(db, project, expiry - 1)
        await selectedAreCounts(db, project, expiry)
        await listsAreWhole(db, project, expiry - 1)
      }),
      tried({ share: 3, whole: 20 }),
    )
    assert.deepEqual(await wrongSums(db), [])
  })
}

export function sumsOfCalls(open: Driver['open']): void {
  describe('sums of calls', () => {
    sumsAfterWrites(open)

    test('say between which days a list has to look, so that what no call has is found at once', async (t) => {
      const db = await open(t)
      const project = newProject()
      const call = (n: number, op_name: string) =>
        wholePart(project, `call ${n}`, { op_name, started_at: from + n * day })
      const versions = 'weave:///acme/qa/op/known'
      await db.write('upsertCalls', [
        call(0, 'ask'),
        call(1, 'rare'),
        call(2, `${versions}:v1`),
        call(9, 'ask'),
      ])
      const judge = { op_name: 'heddle.judge', started_at: from + 4 * day, parent_id: 'call 0' }
      const within = async (view: Partial<CallsView>) =>
        (await narrowing(boundTo(db, signal), { ...viewOf(project, false), ...view }, expiry))[0]?.text
      const ops = (...op_names: string[]) => within({ filters: [{ op_names }] })
      assert.notEqual(await ops('nothing'), '1 = 0', 'before they are added up')
      await sumAll(boundTo(db, signal))
      assert.equal(await ops('nothing'), '1 = 0')
      assert.equal(await within({ query: condition('op', 'nothing') }), '1 = 0')
      assert.equal(await within({ query: condition('model', 'nothing') }), '1 = 0')
      assert.equal(await within({ query: amongst('model', ['nothing', 'none']) }), '1 = 0')
      const span = async (view: Partial<CallsView>) =>
        (await narrowing(boundTo(db, signal), { ...viewOf(project, false), ...view }, expiry))[0]?.values
      const daysOf = (first: number, last: number) => [from + first * day, from + (last + 1) * day]
      assert.deepEqual(await span({ filters: [{ op_names: ['rare'] }] }), daysOf(1, 1))
      assert.deepEqual(await span({ filters: [{ op_names: ['rare', 'ask', 'nothing'] }] }), daysOf(0, 9))
      const either = (...operands: Expression[]) => ({ query: { op: 'or', operands } }) as const
      const [rare, none] = [condition('op', 'rare'), condition('svc_user_id', 'nobody')]
      assert.equal(await within(either(none, condition('model', 'nothing'))), '1 = 0')
      assert.deepEqual(await span(either(rare, none)), daysOf(1, 1))
      assert.deepEqual(await span(either(none, rare, condition('op', `${versions}:*`))), daysOf(1, 2))
      assert.equal(await within(either(rare, condition('exception', 'x'))), undefined)
      for (const name of [`${versions}:*`, `${versions}:v7`]) {
        assert.deepEqual(await span({ filters: [{ op_names: [name] }] }), daysOf(2, 2), name)
      }
      assert.equal(await within({ query: condition('summary.weave.status', 'running') }), '1 = 0')
      assert.equal(await within({ query: condition('origin', 'judge') }), '1 = 0')
      assert.equal(await within({ query: amongst('origin', ['evaluation', 'other']) }), '1 = 0')
      assert.equal(await within({ query: amongst('origin', ['app', 'judge']) }), undefined)
      // The beginning of several names, or nothing that sums are kept by.
      assert.equal(await ops('as:*'), undefined)
      assert.equal(await ops('x:///as:*', 'ask'), undefined)
      assert.equal(await within({ query: condition('exception', 'x') }), undefined)
      await db.write('upsertCalls', [wholePart(project, 'judge', judge)])
      await sumAll(boundTo(db, signal))
      assert.deepEqual(await span({ query: condition('origin', 'judge') }), daysOf(4, 4))
      await db.write('upsertCalls', [call(30, 'new')])
      assert.deepEqual(await span({ filters: [{ op_names: ['nothing'] }] }), [
        from + 30 * day,
        from + 30 * day + hour,
      ])
    })

    test('are checked in every project, in the order of the database', async (t) => {
      const db = await open(t)
      const name = newProject()
      // In UTF-16 the second would come before the first.
      const [first, second] = [`${name}\uff5e`, `${name}\u{1f600}`] as const
      await db.write('upsertCalls', [wholePart(first, 'call')])
      const marks = {
        name: 'call_sum_marks',
        columns: ['project_id'],
        key: ['project_id', 'at', 'about', 'mark'],
      }
      await db.write('clearRows', { table: marks, most: 1_000 })
      await db.write('upsertCalls', [wholePart(second, 'call')])
      await sumAll(boundTo(db, signal))
      assert.deepEqual(
        (await wrongSums(db)).map(({ project_id }) => project_id),
        [first],
      )
    })

    test('of a day are not stored if another server has stored them since they were read', async (t) => {
      const db = await open(t)
      const project = newProject()
      const call = (n: number) => wholePart(project, `call ${n}`, { started_at: from + n * hour })
      await db.write('upsertCalls', [call(0)])
      for (let n = 0; n < 3; n++) await takesTurn(0)(db, project)
      await db.write('upsertCalls', [call(1)])
      for (let n = 0; n < 4; n++) await takesTurn(1)(db, project)
      await takesTurn(0)(db, project)
      await sumsAreCounts(db, project, expiry)
      await sumAll(boundTo(db, signal))
      assert.deepEqual(await marksOf(db, project), [])
      await sumsAreCounts(db, project, expiry)
    })

    test('are left to another server that has stored them since their marks were read', async (t) => {
      const db = await open(t)
      const project = newProject()
      const call = (n: number) => wholePart(project, `call ${n}`, { started_at: from + n * hour })
      await db.write('upsertCalls', [call(0), call(1)])
      const turn = await db.write('turnMarks', {})
      const read = (await markedHours(boundTo(db, signal), turn)).filter(
        ({ project_id }) => project_id === project,
      )
      assert.equal((await stillMarked(boundTo(db, signal), read)).length, 2)
      await db.write('upsertCalls', [{ ...call(1), id: 'later' }])
      assert.deepEqual(await stillMarked(boundTo(db, signal), read), read.slice(0, 1))
      await sumAll(boundTo(db, signal))
      assert.deepEqual(await stillMarked(boundTo(db, signal), read), [])
    })

    test('of too many groups are not read, neither those that are stored nor those that are counted', async (t) => {
      const db = await open(t)
      const project = newProject()
      const calls = Array.from({ length: 12 }, (_, n) =>
        wholePart(project, `call ${n}`, { started_at: from + (n % 2) * hour, user_id: `user ${n}` }),
      )
      const buckets = { from, step: hour, end: from + 2 * hour }
      const rows = async (maxRows: number, of: { buckets?: typeof buckets } = { buckets }) =>
        (
          await readSums(
            boundTo(db, signal),
            viewOf(project, true),
            { field: 'user', maxRows, ...of },
            expiry,
          )
        )?.length
      await db.write('upsertCalls', calls)
      assert.deepEqual([await rows(12), await rows(11)], [12, undefined], 'counted')
      await sumAll(boundTo(db, signal))
      assert.deepEqual([await rows(12), await rows(11)], [12, undefined], 'stored')
      assert.deepEqual([await rows(12, {}), await rows(11, {})], [12, undefined], 'without buckets')
      const late = { started_at: from + hour, user_id: 'late' }
      await db.write('upsertCalls', [wholePart(project, 'late', late)])
      assert.deepEqual([await rows(13), await rows(12)], [13, undefined], 'both')
    })

    test('of a day are added up once, however many of its hours were written', async (t) => {
      const db = await open(t)
      const project = newProject()
      const calls = Array.from({ length: 30 }, (_, n) =>
        wholePart(project, `call ${n}`, { started_at: from + n * hour }),
      )
      await db.write('upsertCalls', calls)
      const days: number[] = []
      const writeInBackground: Database['writeInBackground'] = (name, input) => {
        if (name === 'keepDay') days.push((input as { at: number }).at)
        return db.writeInBackground(name, input)
      }
      await sumAll(boundTo({ ...db, writeInBackground }, signal))
      // Each server begins at another day.
      assert.deepEqual(days.sort(), [from, from + day])
      assert.deepEqual(await marksOf(db, project), [])
      await sumsAreCounts(db, project, expiry)
    })

    test('are found when they are wrong, and added up again', async (t) => {
      const db = await open(t)
      const project = newProject()
      const calls = Array.from({ length: 20 }, (_, n) =>
        wholePart(project, `call ${n}`, { started_at: from + n * hour }),
      )
      await db.write('upsertCalls', calls)
      await sumAll(boundTo(db, signal))
      assert.deepEqual(await wrongSums(db), [])
      const table = {
        name: 'call_sums',
        columns: ['project_id', 'span', 'field', 'at', 'kind', 'value', 'calls', 'figures'],
        key: [],
      }
      const wrong = (span: number, at: number) => [
        project,
        span,
        'op',
        at,
        'root app',
        'none',
        3,
        '[0,0,0,0,0,0,[],[],[]]',
      ]
      await db.write('copyRows', { table, rows: [wrong(hour, from + 3 * hour), wrong(day, from)] })
      const found = await wrongSums(db)
      assert.deepEqual(found, [{ project_id: project, day: from, hours: [from + 3 * hour] }])
      for (const sums of found) await db.write('markWrongSums', sums)
      await sumsAreCounts(db, project, expiry)
      await sumAll(boundTo(db, signal))
      assert.deepEqual(await wrongSums(db), [])
      await sumsAreCounts(db, project, expiry)
    })

    test('of calls that were there before are kept in the background', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write(
        'upsertCalls',
        Array.from({ length: 30 }, (_, n) =>
          wholePart(project, `call ${n}`, { started_at: from + n * hour }),
        ),
      )
      const marks = {
        name: 'call_sum_marks',
        columns: ['project_id'],
        key: ['project_id', 'at', 'about', 'mark'],
      }
      await db.write('clearRows', { table: marks, most: 1_000 })
      const state = { name: 'unsummed_projects', columns: ['project_id', 'at'], key: ['project_id'] }
      await db.write('copyRows', { table: state, rows: [[project, -9e15]] })
      assert.equal(
        await readSums(boundTo(db, signal), viewOf(project, false), { field: 'op' }, expiry),
        undefined,
      )
      assert.equal((await totalOfCalls(boundTo(db, signal), viewOf(project, false), false, expiry)).count, 30)
      assert.equal(await db.write('markUnsummed', { limit: 20 }), true)
      assert.equal(
        await readSums(boundTo(db, signal), viewOf(project, false), { field: 'op' }, expiry),
        undefined,
      )
      await sumAll(boundTo(db, signal))
      assert.deepEqual(await marksOf(db, project), [])
      await sumsAreCounts(db, project, expiry)
    })

    test('of several writers and servers at once are exact', async (t) => {
      const db = await open(t)
      const project = newProject()
      const writer = async (name: string) => {
        for (let n = 0; n < 12; n++) {
          const at = {
            started_at: from + (n % 3) * hour,
            trace_id: `t${n % 4}`,
            parent_id: n % 2 ? 'root' : null,
          }
          await db.write('upsertCalls', [startPart(project, `${name} ${n}`, at)])
          const failed = { ended_at: from + day, exception: n % 5 === 1 ? 'it failed' : null }
          await db.write('upsertCalls', [endPart(project, `${name} ${n}`, failed)])
        }
      }
      let isWriting = true
      const server = async () => {
        while (isWriting) await sumAll(boundTo(db, signal))
      }
      const servers = [server(), server()]
      await Promise.all(['a', 'b', 'c', 'd'].map(writer))
      isWriting = false
      await Promise.all(servers)
      await sumsAreCounts(db, project, expiry)
      await sumAll(boundTo(db, signal))
      assert.deepEqual(await marksOf(db, project), [])
      assert.equal((await totalOfCalls(boundTo(db, signal), viewOf(project, false), false, expiry)).count, 48)
      await sumsAreCounts(db, project, expiry)
      assert.deepEqual(await wrongSums(db), [])
    })
  })
}
