import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { sqliteDialect } from '../../../src/storage/engines/sqlite/dialect.ts'
import { settleChangedAnswers } from '../../../src/storage/queues/answers.ts'
import type { Sql } from '../../../src/storage/sql/sql.ts'
import type { Transaction } from '../../../src/storage/transaction.ts'
import { whole } from '../../support/answers.ts'
import { keys } from '../../support/app.ts'
import { allDrivers } from '../../support/drivers.ts'
import { openPairedQueue } from '../../support/paired-queue.ts'
import { unknownCall } from '../../support/queues.ts'

const two = ['gpt-a', 'gpt-b']
const three = [...two, 'gpt-c']

for (const driver of allDrivers()) {
  describe(`pairs of a queue, with ${driver.name}`, () => {
    before(driver.start)
    after(driver.stop)

    test('are added once in either order, beside calls and other pairs of the same calls', async (t) => {
      const { add, post, url, project_id, id } = await openPairedQueue(t, await driver.open(t), three)
      const counts = (added_count: number, duplicates: number, unknown: string[] = []) => ({
        status: 200,
        body: { added_count, duplicates, unknown: unknown.length, unknown_call_ids: unknown },
      })
      assert.deepEqual(
        whole(
          await add(
            [
              [0, 1],
              [1, 0],
              [0, 2],
            ],
            { call_ids: [id(0)] },
          ),
        ),
        counts(3, 1),
      )
      assert.deepEqual(
        whole(
          await add([
            [1, 0],
            [1, 2],
            [0, 2],
          ]),
        ),
        counts(1, 2),
      )
      const nobody = unknownCall()
      const strange = { project_id, pairs: [{ call_ids: [id(0), nobody] }] }
      assert.deepEqual(whole(await post(`${url}/items`, strange)), counts(0, 0, [nobody]))
      const { json } = await post(`${url}/items/query`, { project_id })
      assert.deepEqual(
        json.items.map((item: Record<string, unknown>) => [item.call_id, item.other_call_id]),
        [
          [id(0), null],
          [id(0), id(1)],
          [id(0), id(2)],
          [id(1), id(2)],
        ],
      )
      const filtered = await post(`${url}/items/query`, { project_id, filter: { call_id: id(2) } })
      assert.equal(filtered.json.items.length, 2)
    })

    test('of deleted calls stay, and are not added any more', async (t) => {
      const { add, post, itemOf, prefer, project_id, id } = await openPairedQueue(
        t,
        await driver.open(t),
        three,
      )
      await add([
        [0, 1],
        [2, 0],
      ])
      const item = await itemOf(0, 1)
      await post('/calls/delete', { project_id, call_ids: [id(1)] })
      assert.deepEqual(await itemOf(0, 1), item)
      const again = await add([
        [0, 1],
        [1, 2],
      ])
      assert.deepEqual(whole(again).body, {
        added_count: 0,
        duplicates: 1,
        unknown: 1,
        unknown_call_ids: [id(1)],
      })
      assert.equal((await prefer('alice', [0, 1], 0)).status, 200)
    })

    test('are refused by name', async (t) => {
      const { post, url, project_id, id } = await openPairedQueue(t, await driver.open(t), two)
      const add = (body: object) => post(`${url}/items`, { project_id, ...body })
      const same = await add({ pairs: [{ call_ids: [id(0), id(1)] }, { call_ids: [id(1), id(1)] }] })
      assert.deepEqual([same.status, same.json.code], [400, 'invalid_value'])
      assert.match(same.json.reason, /^pairs\.1\.call_ids: .* accepted: two different calls/)
      for (const [body, field] of [
        [{}, 'call_ids'],
        [{ pairs: [{ call_ids: [id(0)] }] }, 'pairs.0.call_ids'],
        [{ pairs: [{ call_ids: [id(0), id(1), id(0)] }] }, 'pairs.0.call_ids'],
        [{ pairs: [{ call_ids: two, model: 'x' }] }, 'pairs.0'],
        [{ pairs: 'x' }, 'pairs'],
      ] as const) {
        const { status, text } = await add(body)
        assert.deepEqual([status, text.includes(field)], [422, true], text)
      }
      const many = { pairs: Array.from({ length: 1001 }, () => ({ call_ids: [id(0), id(1)] })) }
      const refused = await add(many)
      assert.deepEqual([refused.status, refused.json.code], [413, 'too_many_ids'])
      assert.match(refused.json.reason, /^pairs: 1001 entries/)
      assert.deepEqual((await post(`${url}/items/query`, { project_id })).json.items, [])
    })

    test('are shown in an order that differs between reviewers and items, and stays', async (t) => {
      const models = Array.from({ length: 24 }, (_, n) => `gpt-${n}`)
      const { add, post, url, key, project_id, next, id } = await openPairedQueue(
        t,
        await driver.open(t),
        models,
      )
      await add(models.slice(1).map((_, n) => [0, n + 1] as const))
      type Item = { id: string; display: { left: string; right: string } }
      const leftOf = async (person: 'anna' | 'ben') => {
        const { json } = await post(`${url}/items/query`, { project_id }, key(person))
        return (json.items as Item[]).map(({ display }) => display.left === id(0))
      }
      const [anna, ben] = [await leftOf('anna'), await leftOf('ben')]
      // By chance alone all of 23 would be equal once in four million runs.
      for (const sides of [anna, ben]) assert.equal(new Set(sides).size, 2)
      assert.notDeepEqual(anna, ben)
      const item = (await next('anna')) as unknown as Item & { call_id: string; other_call_id: string }
      assert.deepEqual(
        new Set([item.display.left, item.display.right]),
        new Set([item.call_id, item.other_call_id]),
      )
      assert.equal(item.display.left === id(0), anna[0])
      const body = { project_id, annotation_state: 'in_progress' }
      const begun = await post(`${url}/items/${item.id}/progress`, body, key('anna'))
      assert.deepEqual(begun.json.item.display, item.display)
      assert.deepEqual(await leftOf('anna'), anna)
    })

    test('let annotators read both calls, and find the calls of the queue', async (t) => {
      const { add, post, key, project_id, queue_id, id } = await openPairedQueue(
        t,
        await driver.open(t),
        three,
      )
      await add([[0, 1]])
      const read = async (n: number) => {
        const { status } = await post('/call/read', { project_id, id: id(n) }, key('anna'))
        return status
      }
      assert.deepEqual([await read(0), await read(1), await read(2)], [200, 200, 404])
      const note = { feedback_type: 'wandb.note.1', payload: { note: 'odd' } }
      const about = { project_id, weave_ref: `weave:///${project_id}/call/${id(1)}` }
      assert.equal((await post('/feedback/create', { ...about, ...note }, key('anna'))).status, 200)
      const seen = await post('/feedback/query', { project_id }, key('ben'))
      assert.equal(seen.json.result.length, 1)
      const field = { $getField: 'annotation_queue_items.queue_id' }
      await add([
        [0, 1],
        [0, 2],
      ])
      const found = await post('/calls/query_stats', {
        project_id,
        query: { $expr: { $eq: [field, { $literal: queue_id }] } },
      })
      assert.equal(found.json.count, 3)
    })

    test('who prefer different calls disagree, and the adjudicator decides', async (t) => {
      const settings = {
        ...{ annotators: 2, reviewers: ['anna', 'ben'], blind: true },
        ...{ adjudication: 'on_disagreement', adjudicators: ['kim'] },
      }
      const queue = await openPairedQueue(t, await driver.open(t), three, settings)
      const { finish, next, post, project_id, key, itemOf } = queue
      await queue.add([
        [0, 1],
        [0, 2],
        [1, 2],
      ])
      const answersOf = async (person: 'anna' | 'ben' | 'kim') =>
        (await post('/feedback/query', { project_id }, key(person))).json.result.length
      assert.equal((await finish('anna', [0, 1], 0)).outcome, 'in_review')
      assert.deepEqual([await answersOf('anna'), await answersOf('ben')], [1, 0])
      assert.equal((await finish('ben', [0, 1], 1)).outcome, 'disagreed')
      // The first call of this pair is that of the other pair, too.
      await finish('anna', [0, 2], null)
      assert.equal((await finish('ben', [0, 2], null)).outcome, 'agreed')
      await finish('anna', [1, 2], null)
      assert.equal((await finish('ben', [1, 2], 2)).outcome, 'disagreed')
      assert.deepEqual([await answersOf('ben'), await answersOf('kim')], [6, 6])

      const item = await itemOf(0, 1)
      assert.equal((await next('kim'))?.id, item.id)
      assert.deepEqual(await finish('kim', [0, 1], 1), {
        finished: 2,
        needed: 2,
        outcome: 'adjudicated',
        adjudicated_by: 'kim',
      })
      // A changed answer is compared again; in a blind queue it stands.
      assert.equal((await queue.prefer('ben', [1, 2], null)).status, 409)
      await queue.send('PUT', queue.url, { project_id, blind: false })
      assert.equal((await queue.prefer('ben', [1, 2], null)).status, 200)
      const changed = (await itemOf(1, 2)) as unknown as { review: { outcome: string } }
      assert.equal(changed.review.outcome, 'agreed')
    })

    test('say which model wins, with the decisions of adjudicators and without what is hidden', async (t) => {
      const settings = {
        ...{ annotators: 2, reviewers: ['anna', 'ben'], blind: true },
        ...{ adjudication: 'on_disagreement', adjudicators: ['kim'] },
      }
      const models = ['gpt-a', 'gpt-b', 'gpt-b', 'gpt-a', 'gpt-a', 'gpt-c']
      const queue = await openPairedQueue(t, await driver.open(t), models, settings)
      const { finish, post, url, project_id, id } = queue
      const all = [
        [0, 1],
        [2, 3],
        [4, 2],
        [4, 1],
        [0, 3],
        [0, 5],
      ] as const
      await queue.add(all)
      const judge = async (pair: readonly [number, number], anna: number | null, ben: number | null) => {
        await finish('anna', pair, anna)
        await finish('ben', pair, ben)
      }
      await judge(all[0], 0, 0)
      await judge(all[1], 3, 3)
      await judge(all[2], null, null)
      await judge(all[3], 4, 1)
      await finish('kim', all[3], 1)
      await judge(all[4], 0, 0)
      await judge(all[5], 0, 5)
      const read = async (body: object, by?: string) => {
        const { status, json, text } = await post(`${url}/preferences`, { project_id, ...body }, by)
        assert.equal(status, 200, text)
        return json
      }
      const { comparisons, left, ...rest } = await read({})
      const { win_rate, ...counts } = comparisons[0]
      assert.deepEqual(
        [comparisons.length, counts],
        [1, { first: 'gpt-a', second: 'gpt-b', first_wins: 2, second_wins: 1, ties: 1 }],
      )
      // By hand, with z = 1.96.
      assert.deepEqual([win_rate.count, win_rate.of], [2, 3])
      assert.ok(Math.abs(win_rate.low - 0.2077) < 1e-3 && Math.abs(win_rate.high - 0.9385) < 1e-3)
      const humans = { calls: 6, raters: 2, kappa: null, ac1: null, alpha: null }
      assert.deepEqual(rest, { by: 'model', undecided: 1, not_compared: 1, partial: false, humans })
      assert.equal(left.of, 11)
      assert.deepEqual((await read({ by: 'op' })).not_compared, 6)
      const byPrompt = await read({ by: 'prompt' })
      const { win_rate: _, ...ofPrompts } = byPrompt.comparisons[0]
      assert.deepEqual(
        [byPrompt.not_compared, ofPrompts],
        [1, { first: 'answer:v0', second: 'answer:v1', first_wins: 2, second_wins: 2, ties: 0 }],
      )

      // A viewer sees nothing of a blind queue that it has not reviewed.
      const grants = [{ scope: project_id, role: 'viewer' }]
      const vera = (await post('/users', { name: 'vera', grants }, keys.root)).json.key.key
      const none = {
        comparisons: [],
        undecided: 0,
        not_compared: 0,
        partial: false,
        left: null,
        humans: null,
      }
      assert.deepEqual(await read({}, vera), { by: 'model', ...none })
      await post('/calls/delete', { project_id, call_ids: [id(1)] })
      assert.equal((await read({})).not_compared, 3)
      const missing = await post('/annotation_queues/nowhere/preferences', { project_id })
      assert.deepEqual([missing.status, missing.json.code], [404, 'annotation_queue_not_found'])
    })

    test('take preferences about themselves only', async (t) => {
      const queue = await openPairedQueue(t, await driver.open(t), three)
      const { prefer, id, project_id, queue_id } = queue
      await queue.add([[0, 1]])
      const payload = (fields: object) => ({
        payload: { preferred: id(0), other: id(1), ...fields },
      })
      const refusals = [
        [payload({ preferred: id(2) }), 'payload.preferred'],
        [payload({ preferred: undefined }), 'payload.preferred'],
        [payload({ preferred: true }), 'payload.preferred'],
        [payload({ other: id(2) }), 'payload.other'],
        [payload({ other: null }), 'payload.other'],
        [payload({ reason: 5 }), 'payload.reason'],
        [payload({ reason: 'x'.repeat(4097) }), 'payload.reason'],
        [{ queue_id: null }, 'queue_id'],
        [{ queue_id: 'nowhere' }, 'queue_id'],
        [{ weave_ref: `weave:///${project_id}/object/a:v0` }, 'svc_ref'],
        [{ weave_ref: `weave:///acme/qa/call/${id(0)}` }, 'svc_ref'],
      ] as const
      for (const [fields, field] of refusals) {
        const { status, json } = await prefer('alice', [0, 1], 0, fields)
        assert.deepEqual([status, json.reason.split(':')[0]], [400, field], json.reason)
      }
      // The answer is about the first call.
      assert.equal((await prefer('alice', [1, 0], 0)).status, 400)
      const stored = await prefer('anna', [0, 1], 0, payload({ reason: 'shorter' }))
      assert.deepEqual(stored.json.payload, { preferred: id(0), other: id(1), reason: 'shorter' })
      // Sent again after the queue is gone, it is the same answer.
      const sent = { id: 'mine' }
      assert.equal((await prefer('alice', [0, 1], 0, sent)).status, 200)
      const gone = `/annotation_queues/${queue_id}?project_id=${encodeURIComponent(project_id)}`
      assert.equal((await queue.send('DELETE', gone, undefined, keys.alice)).status, 200)
      assert.equal((await prefer('alice', [0, 1], 0, sent)).status, 200)
    })
  })
}

test('a changed preference is compared within its own pair, not with those of other pairs of the same call', async () => {
  const others = ['second', 'third', 'fourth']
  const settled: unknown[] = []
  const all = async ({ text, values }: Sql) =>
    others
      .filter((other) => !text.includes('other_call_id = ?') || values.includes(other))
      .filter(() => text.includes('FROM annotation_queue_items'))
      .map((other) => ({ id: `item of ${other}`, call_id: 'first', other_call_id: other }))
  const tx = {
    dialect: sqliteDialect,
    all,
    get: async () => ({ reviewers: '[]', adjudicators: '[]', tolerance: '{}' }),
    lock: async () => {},
    run: async ({ values }: Sql) => settled.push(values.at(-1)),
  } as unknown as Transaction
  const answered = { project_id: 'acme/qa', call_id: 'first', queue_id: 'queue' }
  const payload = JSON.stringify({ preferred: 'first', other: 'third' })
  await settleChangedAnswers(tx, [{ ...answered, feedback_type: 'heddle.preference', payload }])
  assert.deepEqual(settled, ['item of third'])
})
