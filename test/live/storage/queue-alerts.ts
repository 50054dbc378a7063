import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Database } from '../../../src/storage/database.ts'
import { wholePart } from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'
import { minute, noon, openQueue, queueRow } from '../../support/stored-queues.ts'
import { addRule, endedNow, firedIn } from './alert-rows.ts'

const queuesIn = async (db: Database, project: string, rule?: string) =>
  (await firedIn(db, project, rule)).map(({ queue }) => [queue.id, queue.waiting])

export function queueAlerts({ shared, open }: Driver): void {
  describe('alerts on queues', () => {
    test('a rule fires with the item that makes it so many, and anew after fewer waited', async () => {
      const db = await shared()
      const queue = await openQueue(db, 3)
      const { project } = queue
      await addRule(db, project, { queue: { queue_id: 'queue', waiting: 5 } })
      const ids = Array.from({ length: 9 }, (_, n) => `more-${n}`)
      await db.write(
        'upsertCalls',
        ids.map((id) => wholePart(project, id)),
      )
      await queue.add(ids.slice(0, 1))
      assert.deepEqual(await firedIn(db, project), [])
      await queue.add(ids.slice(0, 3))
      const fired = { id: 'queue', name: 'Hard questions', waiting: 6, bound: 5 }
      assert.deepEqual(
        (await firedIn(db, project)).map((data) => data.queue),
        [fired],
      )
      await queue.add(ids.slice(0, 4))
      assert.equal((await firedIn(db, project)).length, 1)
      for (const n of [0, 1, 2]) {
        await queue.say(`alice call-00${n}`, 'alice', n === 0 ? 'skipped' : 'completed')
        await queue.say(`alice call-00${n}`, 'bob', 'in_progress')
      }
      // Four wait: what only one person has finished does not.
      await queue.add(ids.slice(4, 5))
      assert.deepEqual(await queuesIn(db, project), [
        ['queue', 6],
        ['queue', 5],
      ])
      await queue.add(ids.slice(5))
      assert.equal((await firedIn(db, project)).length, 2)
    })

    test('an item that is opened again counts, unless somebody else has finished it', async () => {
      const db = await shared()
      const queue = await openQueue(db, 2)
      const key = { project_id: queue.project, queue_id: 'queue', item_id: 'alice call-000' }
      await addRule(db, queue.project, { queue: { queue_id: null, waiting: 2 } })
      await queue.say(key.item_id, 'alice', 'completed')
      await queue.say(key.item_id, 'bob', 'completed')
      const reopen = (annotator: string) =>
        db.write('reopenItem', { ...key, annotator, now: noon, lease: minute })
      await reopen('alice')
      assert.deepEqual(await firedIn(db, queue.project), [])
      await reopen('bob')
      await reopen('bob')
      assert.deepEqual(await queuesIn(db, queue.project), [['queue', 2]])
    })

    test('a rule with 0 fires with the last item that is finished, and anew when more came', async () => {
      const db = await shared()
      const queue = await openQueue(db, 20)
      const { project } = queue
      await addRule(db, project, { queue: { queue_id: null, waiting: 0 } })
      await addRule(db, project, { queue: { queue_id: null, waiting: 1 } }, { id: 'more' })
      const finish = (item: { id: string }, annotator: string) =>
        queue.say(item.id, annotator, annotator === 'bob' ? 'skipped' : 'completed')
      const [last, ...items] = await queue.items()
      assert(last)
      await Promise.all(items.flatMap((item) => ['alice', 'bob'].map((name) => finish(item, name))))
      assert.deepEqual(await firedIn(db, project), [])
      await Promise.all(['alice', 'bob', 'carol'].map((name) => finish(last, name)))
      const fired = { id: 'queue', name: 'Hard questions', waiting: 0, bound: 0 }
      assert.deepEqual(
        (await firedIn(db, project)).map((data) => data.queue),
        [fired],
      )
      const key = { project_id: project, queue_id: 'queue', item_id: last.id, now: noon, lease: minute }
      for (const annotator of ['alice', 'bob', 'carol']) await db.write('reopenItem', { ...key, annotator })
      assert.equal((await firedIn(db, project)).length, 1)
      await finish(last, 'alice')
      assert.deepEqual(await queuesIn(db, project), [
        ['queue', 0],
        ['queue', 0],
      ])
      assert.deepEqual(await queuesIn(db, project, 'more'), [['queue', 1]])
    })

    test('what comes at the same moment to several queues fires each rule once', async (t) => {
      const db = await open(t)
      const queue = await openQueue(db, 0)
      const { project } = queue
      await db.write('addQueue', queueRow(project, { id: 'other' }))
      await addRule(db, project, { queue: { queue_id: null, waiting: 10 } })
      const cool = { id: 'cool', cooldown: 3_600 }
      await addRule(db, project, { queue: { queue_id: null, waiting: 10 } }, cool)
      for (const queue_id of ['queue', 'other']) {
        await db.write('addQueueRule', {
          ...{ project_id: project, id: `to ${queue_id}`, queue_id, pick: '{"kind":"all"}' },
          ...{ filter: '{"op_names":null,"models":null}', display_fields: '[]', paused: 0, counted: 0 },
          ...{ created_at: noon, created_by: 'alice', updated_at: noon },
        })
      }
      const write = (n: number) => db.write('upsertCalls', [endedNow(project, `auto-${n}`, 'answer')])
      const add = async (n: number) => {
        await write(n)
        await db.write('addCallsToQueue', {
          ...{ project_id: project, queue_id: n % 2 ? 'queue' : 'other', display_fields: '[]' },
          ...{
            calls: [{ item_id: `by hand ${n}`, call_id: `auto-${n}`, other_call_id: null }],
            added_by: 'alice',
            now: noon,
          },
        })
      }
      await Promise.all(Array.from({ length: 20 }, (_, n) => add(n)))
      assert.deepEqual((await queuesIn(db, project)).sort(), [
        ['other', 10],
        ['queue', 10],
      ])
      assert.equal((await firedIn(db, project, 'cool')).length, 1)
    })

    test('a rule of another queue or project is not met', async () => {
      const db = await shared()
      const [queue, other] = [await openQueue(db, 1), await openQueue(db, 0)]
      await addRule(db, queue.project, { queue: { queue_id: 'another', waiting: 2 } })
      await addRule(db, other.project, { queue: { queue_id: 'queue', waiting: 2 } })
      await db.write('upsertCalls', [wholePart(queue.project, 'more')])
      await queue.add(['more'])
      assert.deepEqual([await firedIn(db, queue.project), await firedIn(db, other.project)], [[], []])
    })
  })
}
