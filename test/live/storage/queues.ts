import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AnnotationState } from '../../../src/domain/annotation-states.ts'
import { Refusal } from '../../../src/domain/refusals.ts'
import type { View } from '../../../src/domain/view.ts'
import { selectCalls } from '../../../src/storage/calls/calls.ts'
import { isQueued } from '../../../src/storage/queues/items.ts'
import { findQueue, streamQueues } from '../../../src/storage/queues/queues.ts'
import { rawSql, sql } from '../../../src/storage/sql/sql.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { endPart, newProject, startedAt, startPart, wholePart } from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'
import { refusedWith } from '../../support/refusals.ts'
import { minute, noon, openQueue, queueRow, type StoredQueue } from '../../support/stored-queues.ts'
import { collect, viewIn } from '../../support/views.ts'

const never = new AbortController().signal

/** The outcomes of a race: the values of the writes that succeeded, and the refusals of the others. */
async function outcomes<Value>(attempts: Promise<Value>[]): Promise<{ taken: Value[]; refused: Refusal[] }> {
  const settled = await Promise.allSettled(attempts)
  const refused = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason as Refusal] : []))
  for (const reason of refused) assert.ok(reason instanceof Refusal, String(reason))
  return { taken: settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])), refused }
}

const positions = async (queue: StoredQueue) => (await queue.items()).map((item) => item.position)

export function queues(open: Driver['open']): void {
  describe('annotation queues', () => {
    test('are stored as created, changed in the given fields, and deleted', async (t) => {
      const db = await open(t)
      const project = newProject()
      const queue = queueRow(project, { name: 'Größe \u{1f9ea}', description: 'x'.repeat(60_000) })
      const key = { project_id: project, queue_id: 'queue' }
      await db.write('addQueue', queue)
      assert.deepEqual({ ...(await findQueue(db, project, 'queue')) }, queue)
      const nothing = { name: null, description: null, scorer_refs: null }
      assert.deepEqual({ ...(await db.write('changeQueue', { ...key, ...nothing, now: noon })) }, queue)
      const changed = { ...queue, description: '', updated_at: noon }
      const change = { ...key, ...nothing, description: '', now: noon }
      assert.deepEqual({ ...(await db.write('changeQueue', change)) }, changed)
      assert.deepEqual({ ...(await findQueue(db, project, 'queue')) }, changed)
      const deleted = { ...changed, deleted_at: noon + 1 }
      assert.deepEqual({ ...(await db.write('deleteQueue', { ...key, now: noon + 1 })) }, deleted)
      assert.equal(await findQueue(db, project, 'queue'), undefined)
      const gone = refusedWith('annotation_queue_not_found')
      await assert.rejects(db.write('deleteQueue', { ...key, now: noon + 2 }), gone)
      await assert.rejects(db.write('changeQueue', change), gone)
    })

    test('are found by part of their name, in order, in pages and within their project', async (t) => {
      const db = await open(t)
      const project = newProject()
      for (const [n, name] of ['Ähre', 'beta', 'BETÄ'].entries()) {
        await db.write('addQueue', queueRow(project, { id: String(n), name, created_at: startedAt + n }))
      }
      await db.write('addQueue', queueRow(newProject()))
      const found = async (name: string, page: Partial<View> = {}) =>
        (await collect(streamQueues(boundTo(db, never), { ...viewIn(project, page), name }))).map(
          ({ id }) => id,
        )
      assert.deepEqual(await found(''), ['2', '1', '0'])
      assert.deepEqual(await found('bet'), ['2', '1'])
      assert.deepEqual(await found('ä'), ['2', '0'])
      assert.deepEqual(await found('', { limit: 1, offset: 1 }), ['1'])
      assert.deepEqual(await found('', { offset: 2 }), ['0'])
    })

    test('accept live calls once and count the rest', async (t) => {
      const db = await open(t)
      const queue = await openQueue(db, 2)
      const { project } = queue
      await db.write('upsertCalls', [
        wholePart(project, 'live'),
        startPart(project, 'running'),
        endPart(project, 'only ended'),
        wholePart(project, 'expired', { expire_at: noon }),
        wholePart(project, 'deleted'),
      ])
      await db.write('deleteCalls', { project_id: project, ids: ['deleted'], now: noon })
      const unknown = ['only ended', 'expired', 'deleted', 'nobody']
      assert.deepEqual(await queue.add(['running', 'call-001', ...unknown, 'live'], 'bob'), {
        added: 2,
        duplicates: ['call-001'],
        unknown,
      })
      const items = await queue.items()
      assert.deepEqual(
        items.map((item) => [item.position, item.call_id, item.call_ended_at === null, item.added_by]),
        [
          [1, 'call-000', false, 'alice'],
          [2, 'call-001', false, 'alice'],
          [3, 'running', true, 'bob'],
          [4, 'live', false, 'bob'],
        ],
      )
      assert.deepEqual(items[0], {
        project_id: project,
        id: 'alice call-000',
        queue_id: 'queue',
        position: 1,
        call_id: 'call-000',
        other_call_id: null,
        call_op_name: 'answer',
        call_trace_id: 'call-000',
        call_started_at: startedAt,
        call_ended_at: startedAt + 1_000_000,
        display_fields: '["inputs"]',
        added_at: noon,
        added_by: 'alice',
        rule_id: null,
        state: 'unstarted',
        annotator: null,
        finished_by: 0,
        leased_by: null,
        leased_until: null,
        own_state: null,
        own_adjudicates: null,
        adjudicated_by: null,
        differs: null,
        needed: 1,
        outcome: 'open',
        state_at: null,
      })
      await db.write('deleteQueue', { project_id: project, queue_id: 'queue', now: noon })
      await assert.rejects(queue.add(['live']), refusedWith('annotation_queue_not_found'))
    })

    test('can be used to filter calls', async (t) => {
      const db = await open(t)
      const { project } = await openQueue(db, 3)
      await db.write('upsertCalls', [wholePart(project, 'outside')])
      const found = async (queueId: string) => {
        const condition = sql`(${isQueued(queueId)} IS NOT NULL)`
        const query = {
          projectId: project,
          conditions: [condition],
          order: [rawSql('id')],
          limit: null,
          offset: 0,
        }
        const statement = selectCalls(db, query, { large: new Set(), totalStorageSize: false }, noon)
        const ids: string[] = []
        for await (const rows of db.stream<{ id: string }>(statement, { signal: never })) {
          ids.push(...rows.map(({ id }) => id))
        }
        return ids
      }
      assert.deepEqual(await found('queue'), ['call-000', 'call-001', 'call-002'])
      assert.deepEqual(await found('other'), [])
    })

    test('count their items by state and by annotator', async (t) => {
      const db = await open(t)
      const queue = await openQueue(db, 4)
      await queue.say('alice call-000', 'alice', 'completed')
      await queue.say('alice call-000', 'bob', 'in_progress')
      await queue.say('alice call-001', 'bob', 'skipped')
      const sorted = (await queue.counts()).map((row) => Object.values(row).join(' ')).sort()
      assert.deepEqual(sorted, [
        'queue  in_progress 1 1 0',
        'queue  skipped 1 1 0',
        'queue  unstarted 2 0 0',
        'queue alice completed 1 0 0',
        'queue bob in_progress 1 0 0',
        'queue bob skipped 1 0 0',
      ])
    })

    test('hand out an item again once its lease has ended, and not before', async (t) => {
      const db = await open(t)
      const queue = await openQueue(db, 1)
      const first = await queue.next('alice')
      assert.deepEqual([first.item?.leased_by, first.item?.leased_until], ['alice', noon + minute])
      assert.deepEqual(await queue.next('bob', { now: noon + minute - 1 }), { item: null, leased: 1 })
      const second = await queue.next('bob', { now: noon + minute })
      assert.deepEqual([second.item?.leased_by, second.item?.leased_until], ['bob', noon + 2 * minute])
      assert.deepEqual(await queue.next('alice', { now: noon + minute }), { item: null, leased: 1 })
      // Finishing an item does not end the lease of another annotator; only its holder releases it.
      await queue.say('alice call-000', 'alice', 'completed', noon + minute)
      const [finished] = await queue.items()
      assert.equal(finished?.leased_by, 'bob')
      const last = await queue.say('alice call-000', 'bob', 'skipped', noon + minute)
      assert.deepEqual([last.leased_by, last.leased_until, last.finished_by], [null, null, 2])
    })

    test('give out leased and begun items first, then the others in order', async (t) => {
      const db = await open(t)
      const queue = await openQueue(db, 4)
      const taken = async (annotator: string, annotators = 1) =>
        (await queue.next(annotator, { annotators })).item?.position
      await queue.say('alice call-002', 'alice', 'in_progress', noon - 60 * minute)
      assert.equal(await taken('alice'), 3)
      assert.equal(await taken('bob'), 1)
      await queue.say('alice call-000', 'bob', 'completed')
      assert.equal(await taken('bob'), 2)
      assert.equal(await taken('bob'), 2)
      assert.equal(await taken('carol', 2), 4)
      assert.equal(await taken('dora', 2), 1)
      assert.equal(await taken('emil', 2), undefined)
    })
  })

  describe('annotation queues under concurrency', () => {
    test('an annotator who has finished everything gets nothing until calls are added', async (t) => {
      const db = await open(t)
      const queue = await openQueue(db, 3)
      const asked = async (annotator: string) => {
        const { item, leased } = await queue.next(annotator, { annotators: 2 })
        return [item?.position ?? null, leased]
      }
      await queue.say('alice call-000', 'alice', 'completed')
      await queue.say('alice call-000', 'alice', 'completed')
      await queue.say('alice call-001', 'alice', 'in_progress')
      await queue.say('alice call-001', 'alice', 'skipped')
      assert.deepEqual(await asked('bob'), [3, 0])
      assert.deepEqual(await asked('alice'), [null, 1])
      await queue.say('alice call-002', 'alice', 'completed')
      assert.deepEqual(await asked('alice'), [null, 0])
      assert.deepEqual(await asked('bob'), [3, 0])
      await db.write('upsertCalls', [wholePart(queue.project, 'more')])
      await queue.add(['more'])
      assert.deepEqual(await asked('alice'), [4, 0])
      await queue.say('alice more', 'alice', 'skipped')
      assert.deepEqual(await asked('alice'), [null, 0])
    })

    test('of concurrent final states of one annotator one wins and stays', async (t) => {
      const db = await open(t)
      const queue = await openQueue(db, 10)
      const states = ['completed', 'skipped', 'in_progress'] as const
      const attempts = Array.from({ length: 120 }, (_, n) => ({
        id: `alice call-00${n % 10}`,
        state: states[n % 3] as AnnotationState,
      }))
      const settled = await Promise.allSettled(attempts.map(({ id, state }) => queue.say(id, 'alice', state)))
      const items = await queue.items()
      const ends = new Map(items.map((item) => [item.id, item.own_state]))
      for (const end of ends.values()) assert.ok(end === 'completed' || end === 'skipped')
      for (const [n, one] of settled.entries()) {
        const { id, state } = attempts[n] as (typeof attempts)[number]
        const end = ends.get(id)
        if (state !== 'in_progress') assert.equal(one.status, state === end ? 'fulfilled' : 'rejected')
        if (one.status === 'rejected') {
          refusedWith('annotation_state_conflict')(one.reason)
          assert.equal((one.reason as Refusal).values.state, end)
        }
      }
      for (const item of items) {
        assert.deepEqual([item.state, item.annotator, item.finished_by], [item.own_state, 'alice', 1])
      }
    })

    test('two annotators on one item each have a final state, and the item shows one of them', async (t) => {
      const db = await open(t)
      const queue = await openQueue(db, 1)
      const attempts = Array.from({ length: 60 }, (_, n) => ({
        annotator: n % 2 ? 'alice' : 'bob',
        state: (['completed', 'skipped', 'in_progress'] as const)[n % 3] as AnnotationState,
      }))
      const { taken, refused } = await outcomes(
        attempts.map(({ annotator, state }) => queue.say('alice call-000', annotator, state)),
      )
      for (const reason of refused) assert.equal(reason.code, 'annotation_state_conflict')
      const [asAlice] = await queue.items('alice')
      const [asBob] = await queue.items('bob')
      const ends: Record<string, unknown> = { alice: asAlice?.own_state, bob: asBob?.own_state }
      for (const end of Object.values(ends)) assert.ok(end === 'completed' || end === 'skipped')
      assert.equal(asAlice?.state, ends[String(asAlice?.annotator)])
      assert.equal(asAlice?.finished_by, 2)
      assert.deepEqual([asAlice?.leased_by, asAlice?.leased_until], [null, null])
      for (const item of taken) assert.ok(item.finished_by <= 2)
      const counts = await queue.counts()
      assert.equal(counts.filter(({ annotator }) => annotator !== null).length, 2)
    })

    test('concurrent reviewers never get the same item', async (t) => {
      const db = await open(t)
      const queue = await openQueue(db, 20)
      const reviewers = Array.from({ length: 30 }, (_, n) => `reviewer ${n}`)
      const handed = await Promise.all(reviewers.flatMap((name) => [queue.next(name), queue.next(name)]))
      const byItem = Map.groupBy(
        handed.flatMap(({ item }) => (item ? [item] : [])),
        (item) => item.id,
      )
      assert.equal(byItem.size, 20)
      for (const items of byItem.values()) {
        assert.equal(new Set(items.map((item) => item.leased_by)).size, 1)
        assert.equal(items.length, 2)
      }
      assert.equal(handed.filter(({ item }) => item === null).length, 20)
      for (const { item, leased } of handed) if (item === null) assert.equal(leased, 20)
    })

    test('items with expired leases go to one reviewer each', async (t) => {
      const db = await open(t)
      const queue = await openQueue(db, 10)
      const early = Array.from({ length: 10 }, (_, n) => queue.next(`early ${n}`))
      await Promise.all(early)
      const late = Array.from({ length: 15 }, (_, n) => queue.next(`late ${n}`, { now: noon + minute }))
      const items = (await Promise.all(late)).flatMap(({ item }) => (item ? [item.id] : []))
      assert.equal(items.length, 10)
      assert.equal(new Set(items).size, 10)
    })

    test('reviewers who work on a queue together finish each item once', async (t) => {
      const db = await open(t)
      const queue = await openQueue(db, 40)
      const done: string[] = []
      const work = async (name: string) => {
        for (;;) {
          const { item, leased } = await queue.next(name)
          if (item === null) {
            if (leased === 0) return
            continue
          }
          done.push(item.id)
          await queue.say(item.id, name, done.length % 3 ? 'completed' : 'skipped')
        }
      }
      await Promise.all(Array.from({ length: 8 }, (_, n) => work(`reviewer ${n}`)))
      assert.equal(done.length, 40)
      assert.equal(new Set(done).size, 40)
      for (const item of await queue.items()) assert.equal(item.finished_by, 1)
    })

    test('calls that several users add at once are added once, at positions without gaps', async (t) => {
      const db = await open(t)
      const queue = await openQueue(db, 0)
      const ids = Array.from({ length: 60 }, (_, n) => `call-${n}`)
      await db.write(
        'upsertCalls',
        ids.map((id) => wholePart(queue.project, id)),
      )
      const attempts = Array.from({ length: 12 }, (_, n) => {
        const part = ids.slice(n * 4, n * 4 + 16)
        return queue.add(n % 2 ? part : part.toReversed(), `user-${n}`)
      })
      const answers = await Promise.all(attempts)
      assert.equal(
        answers.reduce((sum, { added }) => sum + added, 0),
        60,
      )
      assert.deepEqual(
        await positions(queue),
        ids.map((_, n) => n + 1),
      )
    })

    test('work on a queue that is being deleted either completes first or is refused', async (t) => {
      const db = await open(t)
      const queue = await openQueue(db, 10)
      const key = { project_id: queue.project, queue_id: 'queue' }
      const deletion = () => db.write('deleteQueue', { ...key, now: noon })
      const { refused } = await outcomes<unknown>([
        ...Array.from({ length: 10 }, (_, n) => queue.say(`alice call-00${n}`, 'alice', 'completed')),
        deletion(),
        deletion(),
        ...Array.from({ length: 10 }, (_, n) => queue.next(`reviewer ${n}`)),
      ])
      assert.ok(refused.length >= 1)
      for (const reason of refused) assert.equal(reason.code, 'annotation_queue_not_found')
      await assert.rejects(queue.next('alice'), refusedWith('annotation_queue_not_found'))
    })
  })
}
