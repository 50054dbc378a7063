import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { answerPreview, requestPreview } from '../../../src/domain/call-facts/preview.ts'
import type { Expression } from '../../../src/domain/expressions/expression.ts'
import { formatTime } from '../../../src/domain/time.ts'
import { backfillPosition } from '../../../src/storage/calls/backfill.ts'
import { findWrongBatches } from '../../../src/storage/calls/check.ts'
import { factColumns } from '../../../src/storage/calls/columns.ts'
import type { CallsView } from '../../../src/storage/calls/queries.ts'
import { isDeriving } from '../../../src/storage/calls/underived.ts'
import type { Database } from '../../../src/storage/database.ts'
import { type Sql, sql } from '../../../src/storage/sql/sql.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { newestOf } from '../../../src/storage/views/examined.ts'
import { readBuckets, topGroups } from '../../../src/storage/views/groups.ts'
import { histogramSize } from '../../../src/storage/views/histogram.ts'
import { readLightCalls } from '../../../src/storage/views/light-calls.ts'
import { endPart, newProject, startedAt, startPart, storedRows, wholePart } from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'
import { equals } from '../../support/views.ts'

const columns = [...factColumns('start'), ...factColumns('end')]
const start = {
  op_name: 'weave:///acme/qa/op/answer:v1',
  inputs: '{"model":"small","prompt":"Once\\u0000 upon 🐟"}',
  attributes:
    '{"gen_ai":{"agent":{"name":"weaver\\u0000","version":"2"},"operation":{"name":"invoke_agent"}},"otel_span":{}}',
}
const end = {
  output: '{"choices":[{"text":"a time"}]}',
  summary: '{"usage":{"small":{"prompt_tokens":3,"completion_tokens":4}},"heddle":{"first_token_ms":0.5}}',
}
const facts = {
  op: 'weave:///acme/qa/op/answer:*',
  asked_model: 'small',
  input_preview: null,
  agent: 'weaver\ufffd',
  agent_version: '2',
  operation: 'invoke_agent',
  status: 'success',
  model: 'small',
  input_tokens: 3,
  output_tokens: 4,
  cache_read_tokens: null,
  cache_creation_tokens: null,
  stated_cost: null,
  first_token_us: 500,
  output_preview: null,
}

async function factsOf(db: Database, project: string): Promise<Record<string, unknown>[]> {
  const rows = await storedRows(db, project)
  return rows.map((row) => Object.fromEntries(columns.map((column) => [column, row[column]])))
}

export function callFacts(open: Driver['open']): void {
  const signal = new AbortController().signal
  const view = (project: string) => ({
    project,
    filters: [],
    query: undefined,
    sort: [],
    limit: 10,
    offset: 0,
  })

  /** As the trigger leaves them. */
  const mark = (db: Database, project: string, calls: readonly string[]) =>
    db.write('copyRows', {
      table: {
        name: 'underived_calls',
        columns: ['project_id', 'call_id', 'mark'],
        key: ['project_id', 'call_id'],
      },
      rows: calls.map((id) => [project, id, 'a mark']),
    })

  describe('calls that a server of an older version has written', () => {
    test('get the agents and costs that it does not know', async (t) => {
      const db = await open(t)
      const project = newProject()
      const attributes = '{"gen_ai":{"agent":{"name":"weaver"}}}'
      const row = {
        project_id: project,
        id: 'a',
        trace_id: 't',
        op_name: 'run',
        started_at: startedAt,
        inputs: '{}',
      }
      const summary = '{"usage":{"m":{"input_tokens":1,"total_cost":0.5}}}'
      const end = { ended_at: startedAt + 1, output: 'null', summary, end_bytes: 2 }
      const old = { ...row, ...end, attributes, start_bytes: 2, op: 'run', derivation: 2 }
      const table = { name: 'calls', columns: Object.keys(old), key: ['project_id', 'id'] }
      await db.write('copyRows', { table, rows: [Object.values(old)] })
      assert.equal(await isDeriving(db, project), true)
      const step = { limit: 10, characters: 1000, now: startedAt }
      while (await db.writeInBackground('deriveMarked', step));
      assert.equal(await isDeriving(db, project), false)
      const [call] = await factsOf(db, project)
      assert.deepEqual([call?.agent, Number(call?.stated_cost)], ['weaver', 500_000_000])
    })

    test('are derived project by project, and only lists of these projects say so', async (t) => {
      const db = await open(t)
      const [busy, calm, other] = [newProject(), newProject(), newProject()].sort() as [
        string,
        string,
        string,
      ]
      await mark(
        db,
        busy,
        Array.from({ length: 200 }, (_, n) => `call ${n}`),
      )
      await mark(db, calm, ['call 0'])
      assert.deepEqual(await Promise.all([busy, calm, other].map((project) => isDeriving(db, project))), [
        true,
        true,
        false,
      ])
      const step = { limit: 50, characters: 1_000, now: startedAt }
      const left = () =>
        Promise.all(
          [busy, calm].map(async (project) => {
            const marks = sql`SELECT 1 AS one FROM underived_calls WHERE project_id = ${project}`
            return (await db.all(marks)).length
          }),
        )
      const steps: number[][] = []
      while (await db.write('deriveMarked', step)) steps.push(await left())
      assert.deepEqual(steps, [
        [150, 1],
        [150, 0],
        [100, 0],
        [50, 0],
        [0, 0],
      ])
    })

    test('have one mark, which each write changes', async (t) => {
      const db = await open(t)
      const project = newProject()
      const written = async (name: string, fields: Record<string, string | number>) => {
        const [columns, row] = [Object.keys(fields), Object.values(fields)]
        await db.write('copyRows', { table: { name, columns, key: ['project_id', 'id'] }, rows: [row] })
        const marks = await db.all<{ mark: string }>(
          sql`SELECT mark FROM underived_calls WHERE project_id = ${project} AND call_id = 'a'`,
        )
        assert.equal(marks.length, 1, name)
        return marks[0]?.mark
      }
      const first = await written('calls', { project_id: project, id: 'a' })
      const scored = { scorer_call_ids: '{}', scores: '{}', shape: 0 }
      const trial = {
        evaluation_id: 'e',
        row_digest: 'r',
        row_kind: 0,
        started_at: 1,
        output_key: 0,
        failed: 0,
      }
      assert.notEqual(
        await written('eval_trials', { project_id: project, trial_id: 'a', ...trial, ...scored }),
        first,
      )
    })
  })

  describe('calls that are not what was derived from them', () => {
    test('are found in batches, and can be derived meanwhile', async (t) => {
      const db = await open(t)
      const project = newProject()
      const columns = ['project_id', 'id', 'op_name', 'inputs', 'started_at', 'start_bytes']
      const rows = ['a', 'b', 'c', 'd'].map((id) => [project, id, 'answer', '{}', startedAt, 300])
      await db.write('copyRows', { table: { name: 'calls', columns, key: ['project_id', 'id'] }, rows })
      const marks = {
        name: 'underived_calls',
        columns: ['project_id', 'call_id', 'mark'],
        key: ['project_id', 'call_id'],
      }
      const found = async (limit: number, characters: number) => {
        const batches: string[] = []
        for await (const batch of findWrongBatches(boundTo(db, signal), { limit, characters })) {
          batches.push(batch.map(({ id }) => id).join(''))
        }
        return batches
      }
      // A server will derive them.
      assert.deepEqual(await found(3, 1_000), [])
      await db.write('clearRows', { table: marks, most: 10 })
      assert.deepEqual(await found(3, 2_000), ['abc', 'd'])
      assert.deepEqual(await found(3, 700), ['ab', 'cd'])
      assert.deepEqual(await found(3, 1), ['a', 'b', 'c', 'd'])
      await mark(db, project, ['b'])
      assert.deepEqual(await found(3, 2_000), ['acd'])
      for await (const batch of findWrongBatches(boundTo(db, signal), { limit: 1, characters: 1 })) {
        await db.write('deriveAgain', {
          project_id: project,
          calls: batch.map(({ id }) => id),
          now: startedAt,
        })
      }
      await db.write('clearRows', { table: marks, most: 10 })
      // The words of the others are about to be read.
      assert.deepEqual(await found(3, 2_000), ['b'])
    })
  })

  describe('facts of calls', () => {
    test('are derived from the parts of a call in any order', async (t) => {
      const db = await open(t)
      for (const order of [
        ['start', 'end'],
        ['end', 'start'],
        ['whole'],
        ['whole', 'start'],
        ['start', 'end', 'end'],
      ]) {
        const project = newProject()
        for (const kind of order) {
          if (kind === 'start') await db.write('upsertCalls', [startPart(project, 'a', start)])
          if (kind === 'end') await db.write('upsertCalls', [endPart(project, 'a', end)])
          if (kind === 'whole') await db.write('upsertCalls', [wholePart(project, 'a', start, end)])
        }
        assert.deepEqual(await factsOf(db, project), [facts], order.join())
      }
    })

    test('a part that is sent again replaces its own facts', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('upsertCalls', [wholePart(project, 'a', start, end)])
      await db.write('upsertCalls', [endPart(project, 'a', { exception: 'boom', output: null })])
      const [row] = await readLightCalls(boundTo(db, signal), view(project), startedAt)
      assert.deepEqual(
        [row?.status, row?.model, row?.input_tokens, row?.output_preview, row?.input_preview],
        ['error', 'small', null, null, 'Once upon 🐟'],
      )
    })

    test('previews are those of the values of the call, however long they are', async (t) => {
      const db = await open(t)
      const project = newProject()
      // Previews read up to 4,096 UTF-16 units, of one to three bytes each in the record.
      const texts = ['', 'x', '漢', '🐟'].flatMap((character) =>
        [0, 1, 100, 4093, 4094, 4095, 4096, 9000, 20_000].map((units) =>
          character.repeat(units / Math.max(1, character.length)),
        ),
      )
      const parts = texts.map((text, n) =>
        wholePart(
          project,
          `call ${String(n).padStart(3, '0')}`,
          { inputs: JSON.stringify({ prompt: text, started_at: startedAt + n }) },
          { output: JSON.stringify(text) },
        ),
      )
      await db.write('upsertCalls', parts)
      const rows = await readLightCalls(boundTo(db, signal), { ...view(project), limit: 100 }, startedAt)
      const shown = rows.map(({ id, input_preview, output_preview }) => [id, input_preview, output_preview])
      const expected = parts.map(({ id, start, end }) => [
        id,
        requestPreview(start.inputs).preview,
        end.output && answerPreview(end.output),
      ])
      assert.deepEqual(shown.sort(), expected.sort())
    })

    test('are deleted with the values of the call', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('upsertCalls', [wholePart(project, 'a', start, end)])
      await db.write('deleteCalls', { project_id: project, ids: ['a'], now: startedAt })
      await db.write('sweepCalls', { now: startedAt + 1, forgetBefore: 0, limit: 1000, bytes: 1 << 20 })
      assert.deepEqual(await factsOf(db, project), [Object.fromEntries(columns.map((name) => [name, null]))])
    })

    test('are counted in the newest calls where a condition would need all to be read', async (t) => {
      const db = await open(t)
      const project = newProject()
      const calls = Array.from({ length: 9 }, (_, n) =>
        wholePart(
          project,
          `call ${n}`,
          { ...start, started_at: startedAt + n, trace_id: `trace ${n % 2}` },
          end,
        ),
      )
      await db.write('upsertCalls', calls)
      const exactly = (max: number) => ({ indexed: max, rows: max })
      const groups = (query: Expression | undefined, max: number) =>
        topGroups(
          boundTo(db, signal),
          { ...view(project), query },
          ['status', 'op'],
          { most: 1, max: exactly(max) },
          startedAt,
        )
      const of = (count: number, sampled: number | null) =>
        new Map([
          ['status', { top: [{ value: 'success', count }], total: count, sampled }],
          ['op', { top: [{ value: facts.op, count }], total: count, sampled }],
        ])
      const used: Expression = {
        ...{ op: 'compare', by: 'lt', path: 'query', left: { op: 'field', field: 'input_tokens' } },
        right: { op: 'literal', literal: { kind: 'number', value: 5, text: '5' } },
      }
      const before = (micros: number): Expression => ({
        ...{ op: 'compare', by: 'lt', path: 'query', left: { op: 'field', field: 'started_at' } },
        right: { op: 'literal', literal: { kind: 'text', value: formatTime(micros), text: '' } },
      })
      assert.deepEqual(await groups(used, 4), of(4, 4))
      assert.deepEqual(await groups(used, 9), of(9, null))
      // Of a range, its newest.
      const early: Expression = { op: 'and', operands: [used, before(startedAt + 6)] }
      assert.deepEqual(await groups(early, 4), of(4, 4))
      // What an index finds is found wherever it is, unless it is too much, too.
      assert.deepEqual(await groups(equals('trace_id', 'trace 0'), 5), of(5, null))
      assert.deepEqual(await groups(equals('trace_id', 'trace 0'), 4), of(2, 4))
      // A condition that reads rows looks at fewer.
      const bound = { most: 1, max: { indexed: 4, rows: 3 } }
      const sampledBy = async (more: Partial<CallsView>) => {
        const asked = { ...view(project), ...more }
        return (await topGroups(boundTo(db, signal), asked, ['user'], bound, startedAt)).get('user')?.sampled
      }
      assert.deepEqual(
        [
          await sampledBy({ query: used }),
          await sampledBy({ filters: [{ op_names: [facts.op ?? ''] }] }),
          await sampledBy({ filters: [{ svc_user_ids: ['nobody'] }] }),
          await sampledBy({ filters: [{ op_names: ['weave:///acme/x/op/none:v0'] }] }),
          await sampledBy({ filters: [{ turn_ids: ['none'] }] }),
          await sampledBy({ query: equals('exception', 'none') }),
        ],
        [4, 4, 4, 3, 3, 3],
      )
      const edges = [startedAt, startedAt + 8]
      const charted = async (query: Expression, max: number) => {
        const range = { from: startedAt, end: startedAt + 8, max: exactly(max) }
        const newest = await newestOf(boundTo(db, signal), { ...view(project), query }, range, startedAt)
        if (newest.sampled === null) return undefined
        const by = { field: 'status', values: ['success'] } as const
        const parts = await readBuckets(boundTo(db, signal), { ...newest.view, edges, by }, startedAt)
        return parts.map(({ group, count }) => [group, count])
      }
      assert.deepEqual(await charted(used, 4), [['success', 4]])
      assert.deepEqual(await charted(early, 4), [['success', 4]])
      // Buckets before the newest calls are not looked at.
      const read: string[] = []
      const noted: Database = {
        ...db,
        stream(query: Sql, options) {
          read.push(query.text)
          return db.stream(query, options)
        },
      }
      const many = { ...view(project), filters: [{ began_after: startedAt + 5 }] }
      const hours = [startedAt, startedAt + 3, startedAt + 6, startedAt + 9]
      const parts = await readBuckets(
        boundTo(noted, signal),
        { ...many, edges: hours, by: undefined },
        startedAt + 9,
      )
      assert.deepEqual(
        parts.map(({ bucket, count }) => [bucket, count]),
        [[2, 3]],
      )
      assert.ok(
        read.some((text) => text.includes(`(VALUES (1, ${startedAt + 3}, ${startedAt + 6}), (2,`)),
        read.join('\n'),
      )
      assert.deepEqual(await charted(used, 8), undefined)
      assert.deepEqual(await charted(equals('trace_id', 'trace 0'), 4), undefined)
    })

    test('are counted by group and time', async (t) => {
      const db = await open(t)
      const project = newProject()
      const times = [0.2, 3, 3, 40_000_000]
      await db.write(
        'upsertCalls',
        times.map((ms, n) =>
          wholePart(
            project,
            `call ${n}`,
            { ...start, started_at: startedAt + n },
            { ...end, ended_at: startedAt + n + ms * 1000 },
          ),
        ),
      )
      await db.write('upsertCalls', [startPart(project, 'running', { started_at: startedAt + 2 })])
      const groups = await topGroups(boundTo(db, signal), view(project), ['status'], { most: 1 }, startedAt)
      assert.deepEqual(groups.get('status'), {
        top: [{ value: 'success', count: 4 }],
        total: 5,
        sampled: null,
      })
      const asked = { ...view(project), edges: [startedAt, startedAt + 1, startedAt + 3, startedAt + 4] }
      const by = { field: 'op', values: [facts.op] } as const
      const parts = await readBuckets(boundTo(db, signal), { ...asked, by, timed: 'latency' }, startedAt)
      const sums = { errors: 0, ended: 1, input_tokens: 3, output_tokens: 4, group: facts.op }
      const inOrder = parts.toSorted((a, b) => a.bucket - b.bucket || (b.bin ?? -1) - (a.bin ?? -1))
      assert.deepEqual(inOrder, [
        { ...sums, bucket: 0, bin: 0, count: 1, micros: 200 },
        { ...sums, bucket: 1, bin: 6, count: 2, ended: 2, micros: 6000, input_tokens: 6, output_tokens: 8 },
        {
          ...sums,
          bucket: 1,
          bin: null,
          group: null,
          count: 1,
          ended: 0,
          micros: 0,
          input_tokens: 0,
          output_tokens: 0,
        },
        { ...sums, bucket: 2, bin: histogramSize - 1, count: 1, micros: 40_000_000_000 },
      ])
      const first = await readBuckets(boundTo(db, signal), { ...asked, timed: 'first_token' }, startedAt)
      assert.equal(
        first.reduce((sum, { micros }) => sum + micros, 0),
        2000,
      )
    })

    test('a new record has nothing to backfill', async (t) => {
      const db = await open(t)
      assert.equal(await backfillPosition(db), undefined)
      assert.equal(await db.writeInBackground('backfillFacts', { limit: 10, characters: 1000 }), false)
    })
  })
}
