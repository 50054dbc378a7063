import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { parseExpression } from '../../../src/domain/expressions/parse.ts'
import { formatTime } from '../../../src/domain/time.ts'
import { type CallRow, selectCalls } from '../../../src/storage/calls/calls.ts'
import { callFields } from '../../../src/storage/calls/fields.ts'
import { callsQueryOf, streamCalls } from '../../../src/storage/calls/queries.ts'
import type { Database } from '../../../src/storage/database.ts'
import { feedbackCandidates } from '../../../src/storage/feedback/candidates.ts'
import { type Feedback, selectFeedback } from '../../../src/storage/feedback/feedback.ts'
import type { NewFeedback } from '../../../src/storage/feedback/writes.ts'
import { compileCondition } from '../../../src/storage/sql/conditions.ts'
import { compileOrder } from '../../../src/storage/sql/sorting.ts'
import { rawSql, type Sql } from '../../../src/storage/sql/sql.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { newProject, startedAt, startPart } from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'
import { refusedWith } from '../../support/refusals.ts'
import { collect, viewIn } from '../../support/views.ts'

function feedbackOf(project: string, fields: Partial<Feedback> = {}): NewFeedback {
  const record: Feedback = {
    project_id: project,
    id: randomUUID(),
    feedback_type: 'thumbs',
    svc_ref: 'weave:///acme/qa/call/1',
    call_id: null,
    thread_id: null,
    user_id: 'alice',
    creator: null,
    created_at: startedAt,
    payload: '{"up":true}',
    annotation_ref: null,
    runnable_ref: null,
    call_ref: null,
    trigger_ref: null,
    queue_id: null,
    ...fields,
  }
  return { record, field: 'id' }
}

async function rowsOf<T>(db: Database, statement: Sql): Promise<T[]> {
  const rows: T[] = []
  const { signal } = new AbortController()
  for await (const chunk of db.stream<T>(statement, { signal })) rows.push(...chunk)
  return rows
}

function stored(db: Database, projectId: string): Promise<Feedback[]> {
  const query = { projectId, conditions: [], order: [rawSql('id')], limit: null, offset: 0 }
  return rowsOf(db, selectFeedback(db, query, [rawSql('feedback.*')]))
}

const columns = { large: new Set<never>(), totalStorageSize: false, feedback: true }

const idsOf = async (db: Database, project: string) => (await stored(db, project)).map(({ id }) => id)

function callsOf(
  db: Database,
  projectId: string,
  conditions: readonly Sql[] = [],
  order: readonly Sql[] = [rawSql('id')],
): Promise<CallRow[]> {
  const query = { projectId, conditions, order, limit: null, offset: 0 }
  return rowsOf(db, selectCalls(db, query, columns, startedAt + 1))
}

export function feedback(open: Driver['open']): void {
  describe('feedback', () => {
    test('is read as it was written', async (t) => {
      const db = await open(t)
      const project = newProject()
      const full = feedbackOf(project, {
        id: 'a',
        creator: 'Ä "x" 👋',
        call_id: '1',
        payload: '{"n":9223372036854775807,"d":1.0,"s":"\\u0000\\ud800"}',
        annotation_ref: 'a',
        runnable_ref: 'b',
        call_ref: 'c',
        trigger_ref: 'd',
        queue_id: 'e',
      })
      const plain = feedbackOf(project, { id: 'b' })
      const { created_at } = full.record
      assert.deepEqual(await db.write('addFeedback', [full, plain]), [
        { id: 'a', created_at, payload: full.record.payload },
        { id: 'b', created_at, payload: plain.record.payload },
      ])
      assert.deepEqual(
        (await stored(db, project)).map((row) => ({ ...row })),
        [full.record, plain.record],
      )
    })

    test('the same content again returns the existing record', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('addFeedback', [feedbackOf(project, { id: 'a', payload: '{"a":1,"b":[1.50]}' })])
      const again = feedbackOf(project, { id: 'a', payload: '{"b":[1.5],"a":1}', created_at: startedAt + 5 })
      const other = feedbackOf(project, { id: 'b' })
      const [kept] = await db.write('addFeedback', [again, other])
      assert.deepEqual(kept, { id: 'a', created_at: startedAt, payload: '{"a":1,"b":[1.50]}' })
      assert.deepEqual(await idsOf(db, project), ['a', 'b'])
    })

    test('other content under an existing id is refused with its whole batch', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('addFeedback', [feedbackOf(project, { id: 'm' })])
      for (const fields of [
        { payload: '{"up":1}' },
        { payload: '{"up":true,"n":1}' },
        { user_id: 'bob', creator: 'x' },
        { creator: '' },
        { queue_id: 'q' },
      ]) {
        const batch = [
          feedbackOf(project, { id: 'a' }),
          feedbackOf(project, { id: 'm', ...fields }),
          feedbackOf(project, { id: 'z' }),
        ]
        await assert.rejects(db.write('addFeedback', batch), refusedWith('feedback_conflict'))
      }
      const others = feedbackOf(project, { id: 'm', user_id: 'bob' })
      await assert.rejects(db.write('addFeedback', [others]), refusedWith('feedback_of_other_user'))
      const twice = [feedbackOf(project, { id: 'x' }), feedbackOf(project, { id: 'x', creator: 'x' })]
      await assert.rejects(db.write('addFeedback', twice), refusedWith('feedback_conflict'))
      assert.deepEqual(await idsOf(db, project), ['m'])
    })

    test('only one of several concurrent records with the same id and other content is stored', async (t) => {
      const db = await open(t)
      for (let round = 0; round < 10; round++) {
        const project = newProject()
        const results = await Promise.allSettled(
          Array.from({ length: 8 }, (_, n) =>
            db.write('addFeedback', [feedbackOf(project, { id: 'a', payload: `{"n":${n}}` })]),
          ),
        )
        const winners = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
        assert.equal(winners.length, 1)
        for (const result of results) {
          if (result.status === 'rejected') refusedWith('feedback_conflict')(result.reason)
        }
        assert.deepEqual(
          (await stored(db, project)).map(({ payload }) => payload),
          winners.map(({ payload }) => payload),
        )
      }
    })

    test('batches that overlap in different orders wait for each other without a deadlock', async (t) => {
      const db = await open(t)
      const project = newProject()
      const ids = Array.from({ length: 60 }, (_, n) => `f${n}`)
      const orders = [ids, ids.toReversed(), [...ids.slice(30), ...ids.slice(0, 30)]]
      const answers = await Promise.all(
        orders.map((order) =>
          db.write(
            'addFeedback',
            order.map((id) => feedbackOf(project, { id })),
          ),
        ),
      )
      assert.deepEqual(
        answers.map((kept) => kept.map(({ id }) => id)),
        orders,
      )
      assert.equal((await stored(db, project)).length, 60)
    })

    test('adding and removing the same record at once both succeed', async (t) => {
      const db = await open(t)
      const project = newProject()
      for (let round = 0; round < 10; round++) {
        await db.write('addFeedback', [feedbackOf(project, { id: 'a' })])
        const [kept] = await Promise.all([
          db.write('addFeedback', [feedbackOf(project, { id: 'a' })]),
          db.write('removeFeedback', { project_id: project, ids: ['a'] }),
        ])
        assert.equal(kept[0]?.id, 'a')
      }
      assert.ok((await stored(db, project)).length <= 1)
    })

    test('is removed by id and project, and replaced atomically', async (t) => {
      const db = await open(t)
      const [project, other] = [newProject(), newProject()]
      for (const one of [project, other]) {
        await db.write('addFeedback', [feedbackOf(one, { id: 'a' }), feedbackOf(one, { id: 'b' })])
      }
      await db.write('removeFeedback', { project_id: project, ids: ['a', 'nobody'] })
      assert.deepEqual(await idsOf(db, project), ['b'])

      const next = feedbackOf(project, { id: 'c', creator: 'x' })
      await db.write('replaceFeedback', { ...next, replaced: 'b' })
      assert.deepEqual(await idsOf(db, project), ['c'])
      const same = feedbackOf(project, { id: 'c', creator: 'y' })
      await db.write('replaceFeedback', { ...same, replaced: 'c' })
      await db.write('addFeedback', [feedbackOf(project, { id: 'd' })])
      const taken = feedbackOf(project, { id: 'd', creator: 'z' })
      await assert.rejects(
        db.write('replaceFeedback', { ...taken, replaced: 'c' }),
        refusedWith('feedback_conflict'),
      )
      assert.deepEqual(
        (await stored(db, project)).map(({ id, creator }) => [id, creator]),
        [
          ['c', 'y'],
          ['d', null],
        ],
      )
      assert.deepEqual(await idsOf(db, other), ['a', 'b'])
    })

    test('is shown with its call, oldest first, as JSON', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('upsertCalls', [startPart(project, 'c1'), startPart(project, 'c2')])
      const payload = '{"n":9223372036854775807,"d":1.0,"s":"\\u0000\\ud800é"}'
      await db.write('addFeedback', [
        feedbackOf(project, { id: 'b', call_id: 'c1', created_at: startedAt }),
        feedbackOf(project, {
          id: 'a',
          call_id: 'c1',
          created_at: startedAt + 1,
          creator: 'Ä "x"\n👋',
          payload,
        }),
        feedbackOf(project, { id: 'c', call_id: null }),
        feedbackOf(newProject(), { id: 'd', call_id: 'c1' }),
      ])
      const [first, second] = await callsOf(db, project)
      const common = {
        feedback_type: 'thumbs',
        svc_ref: 'weave:///acme/qa/call/1',
        svc_user_id: 'alice',
        annotation_ref: null,
        runnable_ref: null,
        call_ref: null,
        trigger_ref: null,
        queue_id: null,
      }
      assert.deepEqual(JSON.parse(`[${first?.feedback}]`), [
        { ...common, id: 'b', creator: null, payload: { up: true }, created_at: formatTime(startedAt) },
        {
          ...common,
          id: 'a',
          creator: 'Ä "x"\n👋',
          payload: JSON.parse(payload),
          created_at: formatTime(startedAt + 1),
        },
      ])
      assert.ok(first?.feedback?.includes(payload))
      assert.deepEqual([first?.feedback_left_out, second?.feedback, second?.feedback_left_out], [0, null, 0])
    })

    test('of one call is shown up to a bound, and the rest is counted', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('upsertCalls', [startPart(project, 'c1')])
      const payload = `{"x":"${'x'.repeat(1_000_000)}"}`
      for (let n = 0; n < 20; n++) {
        const fields = {
          id: `f${String(n).padStart(2, '0')}`,
          call_id: 'c1',
          created_at: startedAt + n,
          payload,
        }
        await db.write('addFeedback', [feedbackOf(project, fields)])
      }
      const [call] = await callsOf(db, project)
      const shown = JSON.parse(`[${call?.feedback}]`) as { id: string }[]
      assert.deepEqual([shown.length, shown[0]?.id, call?.feedback_left_out], [16, 'f00', 4])
    })

    test('is queried by its kind: the latest record that has a value at the path counts', async (t) => {
      const db = await open(t)
      const project = newProject()
      const ids = ['a', 'b', 'c', 'd']
      await db.write(
        'upsertCalls',
        ids.map((id) => startPart(project, id)),
      )
      const say = (call_id: string, feedback_type: string, payload: string, after = 0) =>
        feedbackOf(project, { call_id, feedback_type, payload, created_at: startedAt + after })
      await db.write('addFeedback', [
        say('a', 'judge.1', '{"score":0.9}'),
        say('a', 'judge.1', '{"score":9007199254740993}', 1),
        say('a', 'judge.1', '{"other":1}', 2),
        say('b', 'judge.1', '{"score":"0.7"}'),
        say('c', 'note', '{"score":5,"list":[{"a":1}]}'),
        feedbackOf(newProject(), { call_id: 'd', feedback_type: 'judge.1', payload: '{"score":0.9}' }),
      ])
      const fields = callFields(db.dialect, 'query')
      const compare = (field: string, by: 'eq' | 'gt', text: string) =>
        compileCondition(
          {
            op: 'compare',
            by,
            left: { op: 'field', field },
            right: { op: 'literal', literal: { kind: 'number', value: numberOf(text), text } },
            path: 'query',
          },
          fields,
          db.dialect,
        )
      const where = async (condition: Sql) => (await callsOf(db, project, [condition])).map(({ id }) => id)
      assert.deepEqual(await where(compare('feedback.[judge.1].payload.score', 'gt', '0.5')), ['a', 'b'])
      const exact = compare('feedback.[judge.1].payload.score', 'eq', '9007199254740993')
      assert.deepEqual(await where(exact), ['a'])
      assert.deepEqual(await where(compare('feedback.[*].payload.list.0.a', 'eq', '1')), ['c'])
      assert.deepEqual(await where(compare('feedback.[judge.1].payload.list.0.a', 'eq', '1')), [])
      const order = [...compileOrder(fields('feedback.[*].payload.score'), 'desc', db.dialect), rawSql('id')]
      assert.deepEqual(
        (await callsOf(db, project, [], order)).map(({ id }) => id),
        ['a', 'c', 'b', 'd'],
      )
    })

    test('that few calls have leaves only these to read, and its absence leaves all', async (t) => {
      const db = await open(t)
      const project = newProject()
      const ids = Array.from({ length: 6 }, (_, n) => `call-${n}`)
      await db.write(
        'upsertCalls',
        ids.map((id) => startPart(project, id)),
      )
      const say = (n: number, payload: string, after = 0, feedback_type = 'judge') =>
        feedbackOf(project, { call_id: `call-${n}`, feedback_type, payload, created_at: startedAt + after })
      await db.write('addFeedback', [
        say(0, '{"output":0.9}'),
        say(1, '{"output":{"score":0.8}}'),
        // No longer, but some of it holds.
        say(2, '{"output":0.9}'),
        say(2, '{"output":0.1}', 1),
        say(3, '{"output":0.2}'),
        say(4, '{"output":0.9}', 0, 'other'),
        feedbackOf(project, { call_id: null, feedback_type: 'judge', payload: '{"output":1}' }),
        feedbackOf(newProject(), { call_id: 'call-5', feedback_type: 'judge', payload: '{"output":1}' }),
      ])
      const field = (path: string, type = 'judge') => ({ $getField: `feedback.[${type}].payload.${path}` })
      const above = (path: string, type?: string) => ({ $gt: [field(path, type), { $literal: 0.5 }] })
      const both = async (condition: object) => {
        const query = parseExpression({ $expr: condition })
        const view = { ...viewIn(project, { query }), filters: [] }
        const bound = boundTo(db, new AbortController().signal)
        const narrowed = await feedbackCandidates(bound, view)
        const candidates = narrowed && (JSON.parse(narrowed.values[0] as string) as string[]).sort()
        const found = await collect(streamCalls(bound, view, columns, startedAt + 1))
        const whole = await callsOf(db, project, callsQueryOf(db, view).conditions)
        assert.deepEqual(found.map(({ id }) => id).sort(), whole.map(({ id }) => id).sort())
        return [candidates, found.map(({ id }) => id).sort()]
      }
      const [zero, one, two, , four] = ids
      assert.deepEqual(await both(above('output')), [[zero, two], [zero]])
      const scored = { $or: [above('output'), above('output.score')] }
      assert.deepEqual(await both(scored), [
        [zero, one, two],
        [zero, one],
      ])
      assert.deepEqual(await both(above('output', '*')), [
        [zero, two, four],
        [zero, four],
      ])
      assert.deepEqual(await both(above('output', 'nobody')), [[], []])
      const exists = { $convert: { input: field('output.score'), to: 'exists' } }
      assert.deepEqual(await both(exists), [[one], [one]])
      for (const condition of [
        { $not: [exists] },
        { $eq: [field('output'), { $literal: null }] },
        { $lt: [field('output'), { $literal: 'x' }] },
        { $or: [above('output'), above('output', 'other')] },
        { $not: [{ $or: [above('output'), { $eq: [field('output.score'), { $literal: '' }] }] }] },
      ])
        assert.equal((await both(condition))[0], undefined, JSON.stringify(condition))
    })
  })
}

function numberOf(text: string): number | bigint {
  return text.includes('.') ? Number(text) : BigInt(text)
}
