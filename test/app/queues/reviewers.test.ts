import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Answer } from '../../support/app.ts'
import { allDrivers } from '../../support/drivers.ts'
import { openReviewedQueue, worked } from '../../support/reviewed-queue.ts'

const refused = ({ status, json }: Answer) => [status, json.code]

for (const driver of allDrivers()) {
  describe(`several reviewers, with ${driver.name}`, () => {
    before(driver.start)
    after(driver.stop)

    test('two who differ beyond the tolerance leave the item to the adjudicator, whose value closes it', async (t) => {
      const queue = await openReviewedQueue(t, await driver.open(t), 2)
      const { finish, next, set, review } = queue
      const { queue: stored } = (await queue.get(`${queue.url}?project_id=${queue.project_id}`)).json
      assert.deepEqual({ ...stored, ...worked }, stored)
      assert.equal((await queue.review(0)).outcome, 'open')
      assert.equal(await next('kim'), null)
      assert.deepEqual(await finish('anna', 0, 4), {
        finished: 1,
        needed: 2,
        outcome: 'in_review',
        adjudicated_by: null,
      })
      assert.deepEqual(refused(await set('kim', 0, 'completed')), [409, 'item_not_disputed'])
      assert.equal((await finish('ben', 0, 2)).outcome, 'disagreed')
      await finish('anna', 1, 4)
      assert.equal((await finish('eva', 1, 3)).outcome, 'agreed')

      const { json } = await queue.post(`${queue.url}/items/query`, {
        project_id: queue.project_id,
        filter: { outcomes: ['disagreed'] },
      })
      assert.deepEqual(
        json.items.map(({ id }: { id: string }) => id),
        [queue.items[0]],
      )
      const stats = async () => {
        const body = { project_id: queue.project_id, queue_ids: [queue.queueId] }
        return (await queue.post('/annotation_queues/stats', body)).json.stats[0]
      }
      assert.deepEqual([(await stats()).completed_items, (await stats()).disagreed_items], [2, 1])
      for (const person of ['anna', 'ben', 'eva'] as const) assert.equal(await next(person), null)
      assert.equal(await next('kim'), 0)
      assert.deepEqual(await finish('kim', 0, 3), {
        finished: 2,
        needed: 2,
        outcome: 'adjudicated',
        adjudicated_by: 'kim',
      })
      assert.equal(await next('kim'), null)
      assert.deepEqual(refused(await set('kim', 1, 'in_progress')), [409, 'item_not_disputed'])

      const reopen = `${queue.url}/items/${queue.items[0]}/reopen`
      await queue.post(reopen, { project_id: queue.project_id }, queue.key('kim'))
      assert.deepEqual([(await review(0)).outcome, (await review(0)).finished], ['disagreed', 2])
      assert.equal(await next('kim'), 0)
    })

    test('two who finish at the same moment are both counted and compared', async (t) => {
      const { answer, set, review, items } = await openReviewedQueue(t, await driver.open(t), 6)
      for (const n of items.keys()) {
        await Promise.all([answer('anna', n, 1), answer('ben', n, n % 2 ? 5 : 2)])
        await Promise.all([set('anna', n, 'completed'), set('ben', n, 'completed')])
        const { finished, outcome } = await review(n)
        assert.deepEqual([finished, outcome], [2, n % 2 ? 'disagreed' : 'agreed'])
      }
    })

    test('a third who has begun meanwhile may finish, and counts', async (t) => {
      const { finish, set, review, next } = await openReviewedQueue(t, await driver.open(t), 1)
      assert.equal((await set('eva', 0, 'in_progress')).status, 200)
      await finish('anna', 0, 3)
      assert.equal((await finish('ben', 0, 3)).outcome, 'agreed')
      assert.equal(await next('kim'), null)
      const { outcome, finished } = await finish('eva', 0, 5)
      assert.deepEqual([outcome, finished], ['disagreed', 3])
      assert.deepEqual(await review(0), {
        finished: 3,
        needed: 2,
        outcome: 'disagreed',
        adjudicated_by: null,
      })
      assert.equal(await next('kim'), 0)
    })

    test('fewer annotators than have finished close the item, more open it again', async (t) => {
      const { finish, change, review, next } = await openReviewedQueue(t, await driver.open(t), 1)
      await finish('anna', 0, 1)
      assert.equal((await change({ annotators: 1 })).status, 200)
      assert.equal((await review(0)).outcome, 'closed')
      assert.equal(await next('ben'), null)
      assert.equal(await next('ben', { annotators: 2 }), 0)
      await change({ annotators: 3 })
      assert.deepEqual((await finish('ben', 0, 4)).outcome, 'in_review')
      assert.equal(await next('kim'), null)
      await change({ annotators: 2 })
      assert.equal((await review(0)).outcome, 'disagreed')
      assert.equal(await next('kim'), 0)
    })

    test('answers that change after both have finished are compared again', async (t) => {
      const queue = await openReviewedQueue(t, await driver.open(t), 1, { ...worked, blind: false })
      const { finish, answer, post, key, project_id, review } = queue
      const first = await answer('anna', 0, 1)
      await queue.set('anna', 0, 'completed')
      assert.equal((await finish('ben', 0, 5)).outcome, 'disagreed')
      const replacement = {
        ...queue.about(0),
        feedback_type: 'wandb.annotation.tone',
        annotation_ref: queue.ref,
        queue_id: queue.queueId,
        payload: { value: 4 },
        feedback_id: first.json.id,
      }
      const replaced = await post('/feedback/replace', replacement, key('anna'))
      assert.equal(replaced.status, 200, replaced.text)
      assert.equal((await review(0)).outcome, 'agreed')
      await answer('anna', 0, 2)
      assert.equal((await review(0)).outcome, 'disagreed')
      const purged = { $expr: { $eq: [{ $getField: 'id' }, { $literal: replaced.json.id }] } }
      await post('/feedback/purge', { project_id, query: purged }, key('anna'))
      assert.equal((await review(0)).outcome, 'disagreed')
      assert.deepEqual(refused(await queue.change({ tolerance: { tone: 9 } })), [409, 'queue_in_review'])
      assert.equal((await queue.change({ tolerance: { tone: 1 } })).status, 200)
    })

    test('whoever skips has finished without a vote; free text is never compared', async (t) => {
      const skipping = await openReviewedQueue(t, await driver.open(t), 1)
      await skipping.finish('anna', 0, 4)
      const { json } = await skipping.set('ben', 0, 'skipped')
      assert.equal(json.item.review.outcome, 'closed')

      const writing = await openReviewedQueue(t, await driver.open(t), 1, worked, { type: 'string' })
      await writing.finish('anna', 0, 'warm')
      assert.equal((await writing.finish('ben', 0, 'cold')).outcome, 'closed')

      const options = { type: 'string', enum: ['warm', 'cold'] }
      const choosing = await openReviewedQueue(t, await driver.open(t), 1, worked, options)
      await choosing.finish('anna', 0, 'warm')
      assert.equal((await choosing.finish('ben', 0, 'cold')).outcome, 'disagreed')
    })

    test('only reviewers review, an adjudicator is none of them, and who annotated an item does not decide it', async (t) => {
      const queue = await openReviewedQueue(t, await driver.open(t), 1, { ...worked, reviewers: [] })
      const { finish, next, change, set, post, project_id, url, key } = queue
      await finish('otto', 0, 1)
      assert.equal((await finish('anna', 0, 5)).outcome, 'disagreed')
      assert.equal((await change({ adjudicators: ['otto', 'kim'] })).status, 200)
      assert.equal(await next('otto'), null)
      assert.equal((await set('otto', 0, 'skipped')).status, 409)
      assert.equal(await next('kim'), 0)

      assert.equal((await change({ reviewers: ['anna', 'ben'] })).status, 200)
      assert.deepEqual(refused(await post(`${url}/next`, { project_id }, key('eva'))), [
        403,
        'not_a_reviewer',
      ])
      assert.deepEqual(refused(await set('eva', 0, 'completed')), [403, 'not_a_reviewer'])
      for (const [settings, reason] of [
        [
          { adjudicators: ['anna'] },
          'adjudicators: "anna"; accepted: users who are not among the reviewers.',
        ],
        [{ annotators: 3 }, 'annotators: 3; accepted: at most 2, because there are so many reviewers.'],
        [{ adjudicators: [] }, 'adjudicators: []; accepted: at least one user.'],
        [
          { adjudication: 'none' },
          'adjudicators: ["otto","kim"]; accepted: none, because adjudication is none.',
        ],
      ] as const) {
        const { status, json } = await change(settings)
        assert.deepEqual([status, json.reason], [400, reason])
      }
      const nobody = await queue.send('PUT', url, { project_id, annotators: 1 }, key('anna'))
      assert.deepEqual(refused(nobody), [403, 'role_forbidden'])
    })

    test('with adjudication always, agreed items wait for a decision too', async (t) => {
      const settings = { ...worked, adjudication: 'always' }
      const { finish, next } = await openReviewedQueue(t, await driver.open(t), 2, settings)
      await finish('anna', 0, 3)
      assert.equal(await next('kim'), null)
      assert.equal((await finish('ben', 0, 3)).outcome, 'agreed')
      assert.equal(await next('kim'), 0)
      assert.equal((await finish('kim', 0, 2)).outcome, 'adjudicated')
      assert.equal(await next('kim'), null)
    })
  })
}
