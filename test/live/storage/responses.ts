import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { type NewResponse, readResponse, streamConversation } from '../../../src/storage/answers/responses.ts'
import { readCall } from '../../../src/storage/calls/calls.ts'
import type { Database } from '../../../src/storage/database.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import type { Driver } from '../../support/drivers.ts'

const day = 86_400_000_000
const now = 1_780_000_000_000_000
const project = 'acme/qa'
const { signal } = new AbortController()

interface Given {
  id?: string
  user_name?: string
  at?: number
  previous_id?: string | null
  earlier?: string[]
  until?: number | null
  /** When its call expires by the retention of the project. */
  retained?: number | null
  inputs?: string
  output?: string
}

const callIds = new Map<string, string>()

function responseOf(given: Given = {}): NewResponse {
  const { id = `resp_${randomUUID()}`, at = now, retained = null, until = null } = given
  const { user_name = 'alice', previous_id = null, earlier = [] } = given
  const inputs = given.inputs ?? '{"input":"a\\u0000\\ud800é"}'
  const callId = randomUUID()
  callIds.set(id, callId)
  return {
    user_name,
    id,
    previous_id,
    earlier,
    until,
    answer: {
      call: {
        project_id: project,
        id: callId,
        display_name: null,
        start: {
          trace_id: callId,
          parent_id: null,
          thread_id: null,
          turn_id: null,
          op_name: 'heddle.responses',
          started_at: at,
          user_id: user_name,
          run_id: null,
          run_step: null,
          expire_at: retained,
          start_bytes: inputs.length,
          attributes: '{}',
          inputs,
        },
        end: {
          trace_id: null,
          ended_at: at,
          exception: null,
          run_step_end: null,
          end_bytes: 2,
          output: given.output ?? '{"output":[],"a":1.0}',
          summary: '{}',
        },
      },
      completion: { completion_id: id, kind: 'response', model: 'm', created_at: at, metadata: null },
    },
    referred: '{}',
    cuts: '[1,2]',
    appended: null,
  }
}

async function conversationOf(db: Database, id: string, at = now, user = 'alice') {
  const ids: string[] = []
  const key = { user_name: user, id, now: at }
  for await (const said of streamConversation(boundTo(db, signal), key, 10_000)) ids.push(said.id)
  return ids
}

const find = (db: Database, id: string, at = now, user = 'alice') =>
  readResponse(boundTo(db, signal), { user_name: user, id, now: at })

const callOf = (db: Database, id: string, at = now) =>
  readCall(db, project, callIds.get(id) as string, false, at)

/** The remaining rows, visible or not. */
async function rowsOf(db: Database, id: string) {
  const [responses, details] = [
    await db.all(sql`SELECT id FROM responses WHERE id = ${id}`),
    await db.all(sql`SELECT id FROM response_details WHERE id = ${id}`),
  ]
  return [responses.length, details.length]
}

export function responses(open: Driver['open']): void {
  describe('responses', () => {
    test('are read from their calls, by their user only', async (t) => {
      const db = await open(t)
      const given = responseOf()
      const { id } = given
      assert.equal(await db.write('keepResponse', given), true)
      assert.deepEqual(
        { ...(await find(db, id)) },
        {
          id,
          previous_id: null,
          project_id: project,
          expires: false,
          asked: '{"input":"a\\u0000\\ud800é"}',
          referred: '{}',
          answer: '{"output":[],"a":1.0}',
          cuts: '[1,2]',
        },
      )
      assert.equal((await callOf(db, id))?.output, '{"output":[],"a":1.0}')
      assert.equal(await find(db, id, now, 'bob'), undefined)
      const again = responseOf({ id })
      assert.equal(await db.write('keepResponse', again), false)
      assert.equal(await callOf(db, id), undefined, 'a refused response has no call')
      assert.equal(await db.write('keepResponse', responseOf({ id, user_name: 'bob' })), true)
    })

    test('of a conversation are read from the latest back to the first that exists', async (t) => {
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

    test('are deleted with their calls, and the calls with them', async (t) => {
      const db = await open(t)
      const [one, other, third] = [responseOf(), responseOf(), responseOf()]
      for (const given of [one, other, third]) await db.write('keepResponse', given)
      await db.write('deleteResponse', { user_name: 'alice', id: one.id, now })
      assert.equal(await callOf(db, one.id), undefined)
      await db.write('deleteCalls', { project_id: project, ids: [callIds.get(other.id) as string], now })
      assert.equal(await find(db, other.id), undefined)
      for (const { id } of [one, other]) assert.deepEqual(await rowsOf(db, id), [0, 0])
      assert.ok((await find(db, third.id)) && (await callOf(db, third.id)))
    })

    test('that are deleted along with their calls at once are deleted once', async (t) => {
      const db = await open(t)
      const given = Array.from({ length: 20 }, () => responseOf())
      for (const one of given) await db.write('keepResponse', one)
      const deleted = await Promise.all(
        given.flatMap(({ id }) => [
          db.write('deleteResponse', { user_name: 'alice', id, now }),
          db.write('deleteCalls', { project_id: project, ids: [callIds.get(id) as string], now }),
          db.write('deleteResponse', { user_name: 'alice', id, now }),
        ]),
      )
      assert.ok(deleted.filter((answer) => answer === true).length <= given.length)
      for (const { id } of given) {
        assert.deepEqual([await find(db, id), await callOf(db, id)], [undefined, undefined])
        assert.deepEqual(await rowsOf(db, id), [0, 0])
      }
    })

    test('can use an id again that was deleted or has expired', async (t) => {
      const db = await open(t)
      const given = responseOf()
      await db.write('keepResponse', given)
      await db.write('deleteResponse', { user_name: 'alice', id: given.id, now })
      assert.equal(await db.write('keepResponse', responseOf({ id: given.id })), true)
      const expired = responseOf({ retained: now + day })
      await db.write('keepResponse', expired)
      assert.equal(await db.write('keepResponse', responseOf({ id: expired.id, at: now + day })), true)
      assert.ok(await find(db, expired.id, now + day))
    })

    test('that continue each other in a circle end at a bound', async (t) => {
      const db = await open(t)
      const [one, other] = [`resp_${randomUUID()}`, `resp_${randomUUID()}`]
      await db.write('keepResponse', responseOf({ id: one, previous_id: other }))
      await db.write('keepResponse', responseOf({ id: other, previous_id: one }))
      assert.equal((await conversationOf(db, one)).length, 10_000)
    })

    test('expire with their calls, and are kept as long as the responses that continue them', async (t) => {
      const db = await open(t)
      const first = responseOf({ until: now + 2 * day })
      await db.write('keepResponse', first)
      const at = now + day
      const next = responseOf({ at, until: at + 30 * day, previous_id: first.id, earlier: [first.id] })
      assert.ok(await find(db, first.id, now + 2 * day - 1))
      assert.equal(await find(db, first.id, now + 2 * day), undefined)
      assert.equal(await callOf(db, first.id, now + 2 * day), undefined)
      await db.write('keepResponse', next)
      assert.deepEqual(await conversationOf(db, next.id, at + 29 * day), [next.id, first.id])
      assert.ok(await callOf(db, first.id, at + 29 * day))
      assert.deepEqual(await conversationOf(db, next.id, at + 30 * day), [])
      for (const { id } of [first, next]) assert.equal(await callOf(db, id, at + 30 * day), undefined)
      const sweep = { now: at + 30 * day, forgetBefore: now, limit: 10, bytes: 1_000_000 }
      while ((await db.write('sweepCalls', sweep)) > 0);
      for (const { id } of [first, next]) assert.deepEqual(await rowsOf(db, id), [0, 0])
    })

    test('are kept no longer than the record keeps their calls', async (t) => {
      const db = await open(t)
      const short = responseOf({ retained: now + 7 * day, until: now + 30 * day })
      const long = responseOf({ retained: now + 90 * day, until: now + 30 * day })
      for (const given of [short, long]) await db.write('keepResponse', given)
      for (const [{ id }, days] of [
        [short, 7],
        [long, 30],
      ] as const) {
        assert.ok(await find(db, id, now + days * day - 1))
        assert.equal(await find(db, id, now + days * day), undefined)
      }
      const at = now + 6 * day
      const earlier = [short.id, long.id]
      await db.write('keepResponse', responseOf({ at, until: at + 30 * day, previous_id: long.id, earlier }))
      assert.equal(await find(db, short.id, now + 7 * day), undefined)
      assert.ok(await find(db, long.id, at + 30 * day - 1))
      assert.equal(await find(db, long.id, at + 30 * day), undefined)
      // Without a limit for responses only the retention of calls applies.
      await db.write('keepResponse', responseOf({ at, previous_id: long.id, earlier }))
      assert.ok(await find(db, long.id, now + 90 * day - 1))
      assert.equal(await find(db, long.id, now + 90 * day), undefined)
    })

    test('of one conversation can be written at the same time', async (t) => {
      const db = await open(t)
      const first = responseOf({ until: now + day })
      const second = responseOf({ until: now + day, previous_id: first.id })
      for (const one of [first, second]) await db.write('keepResponse', one)
      const forks = Array.from({ length: 20 }, (_, n) =>
        responseOf({
          until: now + (10 + 2 * n) * day,
          previous_id: second.id,
          earlier: n % 2 === 0 ? [first.id, second.id] : [second.id, first.id],
        }),
      )
      const kept = await Promise.all(forks.map((fork) => db.write('keepResponse', fork)))
      assert.ok(kept.every(Boolean))
      for (const { id } of forks) assert.equal((await conversationOf(db, id, now + 9 * day)).length, 3)
    })

    test('are removed with their user, and their calls stay', async (t) => {
      const db = await open(t)
      const user = { name: 'carol', role: 'member' as const, entities: ['*'], created_at: now }
      await db.write('addUser', { user, key: { id: 'carol-1', hash: 'x' } })
      const [own, other] = [responseOf({ user_name: 'carol' }), responseOf()]
      for (const one of [own, other]) await db.write('keepResponse', one)
      await db.write('removeUser', { name: 'carol', isConfigured: false, now: 0 })
      assert.equal(await find(db, own.id, now, 'carol'), undefined)
      assert.ok((await find(db, other.id)) && (await callOf(db, own.id)))
      assert.equal(await db.write('sweepResponses', { now, limit: 10, bytes: 1_000_000 }), 1)
      assert.deepEqual(await rowsOf(db, own.id), [0, 0])
    })

    test('are sealed with one key, whichever process stores it first', async (t) => {
      const db = await open(t)
      const values = Array.from({ length: 10 }, (_, n) => `value ${n}`)
      const got = await Promise.all(values.map((value) => db.write('secretOf', { name: 'reasoning', value })))
      assert.equal(new Set(got).size, 1)
      assert.ok(values.includes(got[0] as string))
    })
  })
}
