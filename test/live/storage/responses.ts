import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import type { Database } from '../../../src/storage/database.ts'
import { type NewResponse, readResponse, streamConversation } from '../../../src/storage/tables/responses.ts'
import type { Driver } from '../../support/drivers.ts'

const day = 86_400_000_000
const now = 1_780_000_000_000_000
const { signal } = new AbortController()

function responseOf(fields: Partial<NewResponse> = {}): NewResponse {
  return {
    user_name: 'alice',
    id: `resp_${randomUUID()}`,
    created_at: now,
    expire_at: now + 30 * day,
    previous_id: null,
    earlier: [],
    input: '[{"text":"a\\u0000\\ud800é"}]',
    output: '[]',
    answer: '{"a":1.0}',
    cuts: '[1,2]',
    ...fields,
  }
}

async function conversationOf(db: Database, id: string, at = now, user = 'alice') {
  const ids: string[] = []
  const key = { user_name: user, id, now: at }
  for await (const rows of streamConversation(db, key, 10_000, signal)) ids.push(...rows.map((row) => row.id))
  return ids
}

const find = (db: Database, id: string, at = now, user = 'alice') =>
  readResponse(db, { user_name: user, id, now: at }, signal)

export function responses(open: Driver['open']): void {
  describe('responses', () => {
    test('come back as they were given, to their user alone', async (t) => {
      const db = await open(t)
      const { earlier: _, ...given } = responseOf()
      assert.equal(await db.write('keepResponse', { ...given, earlier: [] }), true)
      assert.deepEqual({ ...(await find(db, given.id)) }, given)
      assert.equal(await find(db, given.id, now, 'bob'), undefined)
      assert.equal(await db.write('keepResponse', responseOf({ id: given.id })), false)
      assert.equal(await db.write('keepResponse', responseOf({ id: given.id, user_name: 'bob' })), true)
    })

    test('are continued, the latest first, as far as there is one', async (t) => {
      const db = await open(t)
      const ids = Array.from({ length: 50 }, () => `resp_${randomUUID()}`)
      for (const [index, id] of ids.entries()) {
        await db.write('keepResponse', responseOf({ id, previous_id: ids[index - 1] ?? null }))
      }
      assert.deepEqual(await conversationOf(db, ids[49] as string), ids.toReversed())
      assert.deepEqual(await conversationOf(db, ids[3] as string), ids.slice(0, 4).reverse())
      assert.deepEqual(await conversationOf(db, ids[49] as string, now, 'bob'), [])
      const key = { user_name: 'alice', id: ids[20] as string, now }
      assert.deepEqual(
        [await db.write('deleteResponse', key), await db.write('deleteResponse', key)],
        [true, false],
      )
      assert.deepEqual(await conversationOf(db, ids[49] as string), ids.slice(21).reverse())
    })

    test('that continue each other in a circle do not go on for ever', async (t) => {
      const db = await open(t)
      const [one, other] = [`resp_${randomUUID()}`, `resp_${randomUUID()}`]
      await db.write('keepResponse', responseOf({ id: one, previous_id: other }))
      await db.write('keepResponse', responseOf({ id: other, previous_id: one }))
      assert.equal((await conversationOf(db, one)).length, 10_000)
    })

    test('expire at their time, and live as long as what continues them', async (t) => {
      const db = await open(t)
      const first = responseOf({ expire_at: now + 2 * day })
      await db.write('keepResponse', first)
      const at = now + day
      const next = responseOf({
        created_at: at,
        expire_at: at + 30 * day,
        previous_id: first.id,
        earlier: [first.id],
      })
      assert.ok(await find(db, first.id, (first.expire_at as number) - 1))
      assert.equal(await find(db, first.id, first.expire_at as number), undefined)
      await db.write('keepResponse', next)
      assert.deepEqual(await conversationOf(db, next.id, at + 29 * day), [next.id, first.id])
      const sweep = (time: number) => db.write('sweepResponses', { now: time, limit: 10, bytes: 1_000_000 })
      assert.equal(await sweep(at + 30 * day - 1), 0)
      assert.deepEqual([await sweep(at + 30 * day), await sweep(at + 30 * day)], [2, 0])
      assert.equal(await find(db, next.id, at), undefined)
      const forever = responseOf({ expire_at: null })
      await db.write('keepResponse', forever)
      assert.equal(await sweep(Number.MAX_SAFE_INTEGER), 0)
    })

    test('are freed a few at a time', async (t) => {
      const db = await open(t)
      for (let n = 0; n < 5; n++)
        await db.write('keepResponse', responseOf({ input: `["${'x'.repeat(1000)}"]` }))
      const sweep = (bytes: number) => db.write('sweepResponses', { now: now + 31 * day, limit: 4, bytes })
      assert.deepEqual([await sweep(1), await sweep(2_000), await sweep(1_000_000)], [1, 2, 2])
    })

    test('of one conversation may be written at the same time', async (t) => {
      const db = await open(t)
      const first = responseOf({ expire_at: now + day })
      const second = responseOf({ expire_at: now + day, previous_id: first.id })
      for (const one of [first, second]) await db.write('keepResponse', one)
      const forks = Array.from({ length: 20 }, (_, n) =>
        responseOf({
          expire_at: now + (10 + 2 * n) * day,
          previous_id: second.id,
          earlier: n % 2 === 0 ? [first.id, second.id] : [second.id, first.id],
        }),
      )
      const kept = await Promise.all(forks.map((fork) => db.write('keepResponse', fork)))
      assert.ok(kept.every(Boolean))
      for (const { id } of forks) assert.equal((await conversationOf(db, id, now + 9 * day)).length, 3)
    })

    test('go with their user', async (t) => {
      const db = await open(t)
      const user = { name: 'carol', role: 'member' as const, entities: ['*'], created_at: now }
      await db.write('addUser', { user, key: { id: 'carol-1', hash: 'x' } })
      const [own, other] = [responseOf({ user_name: 'carol', expire_at: null }), responseOf()]
      for (const one of [own, other]) await db.write('keepResponse', one)
      await db.write('removeUser', { name: 'carol' })
      assert.equal(await find(db, own.id, now, 'carol'), undefined)
      assert.ok(await find(db, other.id))
    })

    test('are sealed with one key, whoever brings the first', async (t) => {
      const db = await open(t)
      const values = Array.from({ length: 10 }, (_, n) => `value ${n}`)
      const got = await Promise.all(values.map((value) => db.write('secretOf', { name: 'reasoning', value })))
      assert.equal(new Set(got).size, 1)
      assert.ok(values.includes(got[0] as string))
    })
  })
}
