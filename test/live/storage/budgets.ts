import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { windowAt } from '../../../src/domain/budgets.ts'
import type { Database } from '../../../src/storage/database.ts'
import { type Budget, readBudgets } from '../../../src/storage/limits/budgets.ts'
import { startedAt } from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'

const lease = 60_000_000
const { startsAt, endsAt } = windowAt('day', startedAt)

const budgetOf = (fields: Partial<Budget> = {}): Budget => ({
  ...{ id: 'b1', scope: 'user', subject: 'alice', period: 'day', currency: 'USD', amount: 100 },
  ...{ warn_at: 0.8, block_unpriced: 0, prices_of: null, created_at: startedAt, created_by: 'root' },
  ...fields,
})

const add = (db: Database, budget: Budget, max = 10) => db.write('addBudget', { budget, max })

const share = (amount: number, budget_id = 'b1', starts_at = startsAt) => ({ budget_id, starts_at, amount })

const reserve = (db: Database, id: string, shares = [share(40)], now = startedAt) =>
  db.write('reserveSpend', { id, shares, now, until: now + lease })

async function stateOf(db: Database, now = startedAt) {
  const day = windowAt('day', now).startsAt
  const month = windowAt('month', now).startsAt
  return (await readBudgets(db, { day, month, now })).map(({ id, spent, held }) => [id, spent, held])
}

export function budgets(open: Driver['open']): void {
  describe('budgets', () => {
    test('what many reserve at once never exceeds the amount', async (t) => {
      const db = await open(t)
      await add(db, budgetOf())
      const all = await Promise.all(Array.from({ length: 20 }, (_, n) => reserve(db, `a${n}`, [share(7)])))
      assert.equal(all.filter((reserved) => 'states' in reserved).length, 14)
      const refused = all.find((reserved) => 'exceeded' in reserved)
      assert.deepEqual(refused, { exceeded: { budget_id: 'b1', amount: 100, spent: 0, held: 98 } })
      assert.deepEqual(await stateOf(db), [['b1', 0, 98]])
    })

    test('an answer is settled once, in the window in which it was reserved', async (t) => {
      const db = await open(t)
      await add(db, budgetOf())
      await add(db, budgetOf({ id: 'b2', scope: 'server', subject: '', period: 'month', amount: 1e15 }))
      const month = windowAt('month', startedAt).startsAt
      await reserve(db, 'a', [share(40), share(40, 'b2', month)])
      await reserve(db, 'other')
      const settlement = { id: 'a', shares: [share(31), share(31, 'b2', month)] }
      await db.write('settleSpend', [settlement])
      await db.write('settleSpend', [settlement])
      assert.deepEqual(await stateOf(db), [
        ['b2', 31, 0],
        ['b1', 31, 40],
      ])
      assert.deepEqual((await stateOf(db, endsAt)).at(-1), ['b1', 0, 0])
      await db.write('settleSpend', [{ id: 'other', shares: [share(9)] }])
      assert.deepEqual((await stateOf(db)).at(-1), ['b1', 40, 0])
      assert.deepEqual((await stateOf(db, endsAt)).at(-1), ['b1', 0, 0])
    })

    test('an answer that exceeds one of its budgets reserves nothing of the others', async (t) => {
      const db = await open(t)
      await add(db, budgetOf({ id: 'b2', subject: 'bob', amount: 10 }))
      await add(db, budgetOf())
      assert.ok('exceeded' in (await reserve(db, 'a', [share(11, 'b2'), share(11)])))
      assert.deepEqual(await stateOf(db), [
        ['b1', 0, 0],
        ['b2', 0, 0],
      ])
    })

    test('what is not renewed is free again, and is settled all the same', async (t) => {
      const db = await open(t)
      await add(db, budgetOf())
      const killed = { id: 'killed', shares: [share(40)] }
      const alive = { id: 'alive', shares: [share(40)] }
      await reserve(db, 'killed')
      await reserve(db, 'alive')
      const later = startedAt + lease
      await db.write('renewHolds', {
        holds: [alive],
        now: later - 1,
        until: later + lease,
      })
      assert.ok('exceeded' in (await reserve(db, 'next', [share(30)], later - 1)))
      assert.ok('states' in (await reserve(db, 'next', [share(30)], later)))
      assert.deepEqual(await stateOf(db, later), [['b1', 0, 70]])
      await db.write('settleSpend', [killed])
      assert.deepEqual(await stateOf(db, later), [['b1', 40, 70]])
    })

    test('a budget that was deleted counts nothing, and there is one of a kind', async (t) => {
      const db = await open(t)
      assert.equal(await add(db, budgetOf()), 'added')
      assert.equal(await add(db, budgetOf({ id: 'b2' })), 'exists')
      assert.equal(await add(db, budgetOf({ id: 'b2', period: 'month' }), 1), 'full')
      await reserve(db, 'a')
      assert.equal(await db.write('deleteBudget', { id: 'b1' }), true)
      assert.equal(await db.write('deleteBudget', { id: 'b1' }), false)
      await db.write('settleSpend', [{ id: 'a', shares: [share(40)] }])
      assert.deepEqual(await reserve(db, 'b', [share(1_000)]), { states: new Map() })
      assert.equal(await add(db, budgetOf()), 'added')
      assert.deepEqual(await stateOf(db), [['b1', 0, 0]])
    })
  })
}
