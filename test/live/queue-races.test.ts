import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { openApp } from '../support/app.ts'
import { project } from '../support/calls.ts'
import { allDrivers, type Driver } from '../support/drivers.ts'
import { createQueue, fillQueue, setItemState } from '../support/queues.ts'

const names = Array.from({ length: 8 }, (_, n) => `reviewer${n}`)
const keyOf = (name: string) => `the-secret-key-of-${name}`
const users = names.map((name) => `${name}:${keyOf(name)}:acme`).join(',')
const [one = '', other = ''] = names

type Item = Record<string, unknown>

async function openQueue(t: Pick<TestContext, 'after'>, driver: Driver, size: number) {
  const database = await driver.open(t)
  const { post } = await openApp(t, { database, settings: { HEDDLE_USERS: users } })
  const queue = await fillQueue(post, size, { key: keyOf(one) })
  const next = (name: string, fields: object = {}) =>
    post(`/annotation_queues/${queue.queueId}/next`, { project_id: project, ...fields }, keyOf(name))
  const items = async (name = one): Promise<Item[]> => {
    const answer = await post(
      `/annotation_queues/${queue.queueId}/items/query`,
      { project_id: project, include_position: true },
      keyOf(name),
    )
    return answer.json.items
  }
  const stats = async () => {
    const body = { project_id: project, queue_ids: [queue.queueId] }
    return (await post('/annotation_queues/stats', body, keyOf(one))).json.stats[0]
  }
  return { ...queue, post, next, items, stats }
}

for (const driver of allDrivers()) {
  describe(`concurrent annotators, with ${driver.name}`, () => {
    before(driver.start)
    after(driver.stop)

    test('two annotators on the same items each end in one state, and the item shows one of the two', async (t) => {
      const { queueId, itemIds, post, items, stats } = await openQueue(t, driver, 5)
      const states = ['in_progress', 'completed', 'skipped']
      const attempts = Array.from({ length: 120 }, (_, n) => ({
        item: itemIds[n % 5],
        name: n % 2 ? one : other,
        state: states[n % 3] as string,
      }))
      const answers = await Promise.all(
        attempts.map(({ item, name, state }) => setItemState(post, queueId, item, state, keyOf(name))),
      )
      const seen = { [one]: await items(one), [other]: await items(other) }
      const ownEnd = (name: string, item: unknown) =>
        seen[name]?.find(({ id }) => id === item)?.own_annotation_state
      for (const [n, { status, json, text }] of answers.entries()) {
        const { item, name, state } = attempts[n] as (typeof attempts)[number]
        const end = ownEnd(name, item)
        assert.ok(end === 'completed' || end === 'skipped')
        if (status === 200) {
          assert.ok(state === end || state === 'in_progress', text)
          assert.equal(json.item.own_annotation_state, state)
        } else {
          assert.equal(status, 409, text)
          assert.notEqual(state, end)
          assert.equal(
            json.reason,
            `annotation_state: ${state} cannot follow your state ${end}; accepted after it: ${end}.`,
          )
        }
      }
      for (const item of seen[one] ?? []) {
        assert.equal(item.annotation_state, ownEnd(String(item.annotator_user_id), item.id))
        assert.equal(item.lease, null)
      }
      const { total_items, completed_items, by_user } = await stats()
      assert.deepEqual([total_items, completed_items, by_user.length], [5, 5, 2])
    })

    test('no item is given to two annotators who ask for the next one at once', async (t) => {
      const { next, items } = await openQueue(t, driver, 6)
      const asked = names.flatMap((name) => [name, name, name])
      const answers = await Promise.all(asked.map((name) => next(name)))
      const holders = new Map<string, Set<string>>()
      for (const [n, { status, json, text }] of answers.entries()) {
        assert.equal(status, 200, text)
        if (json.item === null) {
          assert.equal(json.leased_items, 6)
          continue
        }
        assert.equal(json.item.lease.user, asked[n])
        holders.set(json.item.id, (holders.get(json.item.id) ?? new Set()).add(asked[n] as string))
      }
      assert.equal(holders.size, 6)
      for (const users of holders.values()) assert.equal(users.size, 1)
      for (const item of await items()) {
        const [holder] = holders.get(String(item.id)) ?? []
        assert.equal((item.lease as { user: string }).user, holder)
      }
    })

    test('a queue that all work on together completes each item once', async (t) => {
      const { queueId, post, next, stats } = await openQueue(t, driver, 30)
      const done: string[] = []
      await Promise.all(
        names.map(async (name) => {
          for (;;) {
            const { json } = await next(name)
            if (json.item === null && json.leased_items === 0) return
            if (json.item === null) continue
            done.push(json.item.id)
            const answer = await setItemState(post, queueId, json.item.id, 'completed', keyOf(name))
            assert.equal(answer.status, 200, answer.text)
          }
        }),
      )
      assert.deepEqual([done.length, new Set(done).size], [30, 30])
      const { by_state, by_user } = await stats()
      assert.deepEqual(by_state, { unstarted: 0, in_progress: 0, completed: 30, skipped: 0 })
      assert.equal(
        by_user.reduce((sum: number, { completed }: { completed: number }) => sum + completed, 0),
        30,
      )
    })

    test('calls that several users add at once are in the queue once', async (t) => {
      const { callIds, post } = await openQueue(t, driver, 40)
      const queueId = await createQueue(post, {}, keyOf(one))
      const path = `/annotation_queues/${queueId}/items`
      const answers = await Promise.all(
        names.map((name, n) => {
          const call_ids = n % 2 ? callIds : callIds.toReversed()
          return post(path, { project_id: project, call_ids }, keyOf(name))
        }),
      )
      let added = 0
      for (const { json } of answers) {
        added += json.added_count
        assert.equal(json.added_count + json.duplicates, 40)
      }
      assert.equal(added, 40)
      const query = { project_id: project, include_position: true }
      const { items } = (await post(`${path}/query`, query, keyOf(one))).json
      assert.deepEqual(new Set(items.map((item: Item) => item.call_id)), new Set(callIds))
      assert.deepEqual(
        items.map((item: Item) => item.position_in_queue),
        callIds.map((_, n) => n + 1),
      )
    })
  })
}
