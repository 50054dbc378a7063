import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RulePick } from '../../../src/domain/queues/rules.ts'
import type { Database } from '../../../src/storage/database.ts'
import type { Feedback } from '../../../src/storage/feedback/feedback.ts'
import { listRules } from '../../../src/storage/queues/rules.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { endPart, startedAt, startPart, wholePart } from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'
import { refusedWith } from '../../support/refusals.ts'
import { noon, openQueue } from '../../support/stored-queues.ts'

const scores = (bounds: { below?: number; above?: number }, path: string | null = null): RulePick => ({
  kind: 'scores',
  scorer: null,
  path,
  below: bounds.below ?? null,
  above: bounds.above ?? null,
})

/** An empty queue with one rule. */
async function openRuled(db: Database, pick: RulePick, models: string[] | null = null) {
  const queue = await openQueue(db, 0)
  const project_id = queue.project
  const key = { project_id, queue_id: 'queue' }
  const addRule = (id: string, given: RulePick) =>
    db.write('addQueueRule', {
      ...key,
      id,
      pick: JSON.stringify(given),
      filter: JSON.stringify({ op_names: null, models }),
      display_fields: '["output"]',
      paused: 0,
      counted: 0,
      created_at: noon,
      created_by: 'bob',
      updated_at: noon,
    })
  await addRule('rule', pick)
  return {
    ...queue,
    key,
    addRule,
    queued: async () => (await queue.items()).map(({ call_id }) => call_id),
    counted: async () => (await listRules(db, key)).map(({ counted }) => counted),
  }
}

function scored(project_id: string, id: string, call_id: string, output: unknown): Feedback {
  return {
    project_id,
    id,
    feedback_type: 'wandb.runnable.judge',
    svc_ref: `weave:///${project_id}/call/${call_id}`,
    call_id,
    thread_id: null,
    user_id: 'alice',
    creator: null,
    created_at: startedAt,
    payload: JSON.stringify({ output }),
    annotation_ref: null,
    runnable_ref: 'weave:///acme/qa/op/judge:v0',
    call_ref: null,
    trigger_ref: null,
    queue_id: null,
  }
}

export function queueRules(open: Driver['open']): void {
  describe('rules of annotation queues', () => {
    test('queue calls that end, with the rule and its owner', async (t) => {
      const db = await open(t)
      const { project, items, queued } = await openRuled(db, { kind: 'all' })
      await db.write('upsertCalls', [wholePart(project, 'b'), startPart(project, 'c'), endPart(project, 'd')])
      await db.write('upsertCalls', [
        startPart(project, 'd'),
        wholePart(project, 'b'),
        wholePart(project, 'a'),
      ])
      await db.write('upsertCalls', [endPart(project, 'c')])
      assert.deepEqual(await queued(), ['b', 'd', 'a', 'c'])
      const [first] = await items()
      assert.deepEqual(
        [first?.rule_id, first?.added_by, first?.display_fields, first?.position],
        ['rule', 'bob', '["output"]', 1],
      )
    })

    test('queue no deleted or expired calls', async (t) => {
      const db = await open(t)
      const { project, queued } = await openRuled(db, { kind: 'errors' })
      await db.write('upsertCalls', [startPart(project, 'deleted')])
      await db.write('deleteCalls', { project_id: project, ids: ['deleted'], now: noon })
      await db.write('upsertCalls', [
        endPart(project, 'deleted', { exception: 'no' }),
        wholePart(project, 'expired', { expire_at: noon }, { exception: 'no' }),
        wholePart(project, 'failed', {}, { exception: 'no' }),
        wholePart(project, 'fine'),
      ])
      assert.deepEqual(await queued(), ['failed'])
    })

    test('count every call once, however often it is written', async (t) => {
      const db = await open(t)
      const { project, queued, counted, addRule } = await openRuled(db, { kind: 'every_nth', n: 4 })
      await addRule('other', { kind: 'every_nth', n: 1000 })
      const ids = Array.from({ length: 60 }, (_, n) => `call-${n}`)
      const writes = ids.flatMap((id, n) => {
        const parts =
          n % 2 === 0 ? [[wholePart(project, id)]] : [[endPart(project, id)], [startPart(project, id)]]
        return [...parts, ...parts].map((some) => db.write('upsertCalls', some))
      })
      await Promise.all(writes)
      assert.deepEqual(await counted(), [60, 60])
      const found = await queued()
      assert.deepEqual([found.length, new Set(found).size], [15, 15])
      await db.write(
        'upsertCalls',
        ids.map((id) => wholePart(project, id)),
      )
      assert.deepEqual(await counted(), [60, 60])
    })

    test('read models from the usage and the inputs, and match odd names exactly', async (t) => {
      const db = await open(t)
      const { project, queued } = await openRuled(db, { kind: 'all' }, ["it's \\ \u{1f9ea} 100%"])
      const usage = (name: string) => ({ summary: JSON.stringify({ usage: { [name]: {} } }) })
      await db.write('upsertCalls', [
        wholePart(project, 'a', {}, usage("it's \\ \u{1f9ea} 100%")),
        wholePart(project, 'b', {}, usage("it's")),
        wholePart(project, 'c', { inputs: JSON.stringify({ model: "it's \\ \u{1f9ea} 100%" }) }),
        wholePart(project, 'd', {}, { summary: '{"usage":[1]}' }),
      ])
      assert.deepEqual(await queued(), ['a', 'c'])
    })

    test('queue by a score when the feedback arrives, or when the call ends after it', async (t) => {
      const db = await open(t)
      const { project, queued, key } = await openRuled(db, scores({ below: 0.5 }, 'a\\.b.0'))
      const say = (id: string, call: string, value: unknown) =>
        db.write('addFeedback', [{ record: scored(project, id, call, { 'a.b': [value] }), field: 'id' }])
      await db.write('upsertCalls', [
        wholePart(project, 'low'),
        wholePart(project, 'high'),
        startPart(project, 'early'),
      ])
      await say('1', 'low', 0.25)
      await say('1', 'low', 0.25)
      await say('2', 'high', 0.5)
      await say('3', 'early', false)
      await say('4', 'nobody', -1e300)
      await db.write('deleteCalls', { project_id: project, ids: ['high'], now: noon })
      await say('5', 'high', 0)
      assert.deepEqual(await queued(), ['low'])
      await db.write('upsertCalls', [endPart(project, 'early')])
      assert.deepEqual(await queued(), ['low', 'early'])
      const waiting = () =>
        db.all<{ call_id: string }>(
          sql`SELECT call_id FROM annotation_rule_scores WHERE project_id = ${project}`,
        )
      assert.deepEqual(
        (await waiting()).map(({ call_id }) => call_id),
        ['nobody'],
      )
      await db.write('deleteQueueRule', { ...key, rule_id: 'rule' })
      assert.deepEqual(await waiting(), [])
      await db.write('upsertCalls', [wholePart(project, 'nobody')])
      assert.deepEqual(await queued(), ['low', 'early'])
    })

    test('queue nothing when the feedback is refused', async (t) => {
      const db = await open(t)
      const { project, queued } = await openRuled(db, scores({ below: 1 }))
      await db.write('upsertCalls', [wholePart(project, 'a'), wholePart(project, 'b')])
      const say = (...outputs: [id: string, call: string, output: unknown][]) =>
        db.write(
          'addFeedback',
          outputs.map(([id, call, output]) => ({ record: scored(project, id, call, output), field: 'id' })),
        )
      await say(['1', 'a', 1])
      await assert.rejects(say(['0', 'b', 0], ['1', 'a', 0]), refusedWith('feedback_conflict'))
      assert.deepEqual(await queued(), [])
    })

    test('miss nothing when scores and ends arrive at the same time', async (t) => {
      const db = await open(t)
      const { project, queued } = await openRuled(db, scores({ above: 0 }))
      const ids = Array.from({ length: 40 }, (_, n) => `call-${n}`)
      await Promise.all(
        ids.flatMap((id) => [
          db.write('upsertCalls', [wholePart(project, id)]),
          db.write('addFeedback', [{ record: scored(project, id, id, 1), field: 'id' }]),
        ]),
      )
      assert.deepEqual((await queued()).sort(), ids.toSorted())
    })

    test('deleting a queue deletes its rules, even while calls end', async (t) => {
      const db = await open(t)
      const { project, key } = await openRuled(db, { kind: 'all' })
      const ids = Array.from({ length: 20 }, (_, n) => `call-${n}`)
      await Promise.all([
        ...ids.map((id) => db.write('upsertCalls', [wholePart(project, id)])),
        db.write('deleteQueue', { ...key, now: noon }),
      ])
      const gone = refusedWith('annotation_queue_not_found')
      await assert.rejects(db.write('deleteQueueRule', { ...key, rule_id: 'rule' }), gone)
      await assert.rejects(listRules(db, key), gone)
    })
  })
}
