import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { windowAt } from '../../../src/domain/budgets.ts'
import { now } from '../../../src/domain/time.ts'
import { readEvents } from '../../../src/storage/alerts/events.ts'
import type { AlertRule } from '../../../src/storage/alerts/rules.ts'
import type { Database } from '../../../src/storage/database.ts'
import type { Budget } from '../../../src/storage/limits/budgets.ts'
import type { Driver } from '../../support/drivers.ts'

const project = 'acme/qa'
const time = now()
// A month ends less often than a day while a test runs.
const month = windowAt('month', time).startsAt

const ruleOf = (fields: Partial<AlertRule> = {}): AlertRule => ({
  ...{ project_id: project, id: 'rule', name: 'Nearly used up', watches: 'budget' },
  ...{ condition: '{"budget":{"share":0.8}}', severity: 'error', cooldown: 0, endpoints: null, active: 1 },
  ...{ fired_at: null, suppressed: 0, firing: 0, checked_at: time, taken_until: 0 },
  ...{ created_at: time, created_by: 'alice', updated_at: time },
  ...fields,
})

const budgetOf = (fields: Partial<Budget> = {}): Budget => ({
  ...{ id: 'b1', scope: 'project', subject: project, period: 'month', currency: 'USD', amount: 100e9 },
  ...{ warn_at: null, block_unpriced: 0, prices_of: null, created_at: time, created_by: 'root' },
  ...fields,
})

const addBudget = (db: Database, budget: Budget) => db.write('addBudget', { budget, max: 10 })

/** Reserves and settles an answer that costs whole units of each budget. */
async function spend(db: Database, id: string, units: number, budgets = ['b1'], starts_at = month) {
  const shares = budgets.map((budget_id) => ({ budget_id, starts_at, amount: units * 1e9 }))
  const reserved = await db.write('reserveSpend', { id, shares, now: time, until: time + 60_000_000 })
  assert.ok('states' in reserved)
  await db.write('settleSpend', [{ id, shares }])
}

const setAmount = (db: Database, units: number) =>
  db.write('changeBudget', {
    ...{ id: 'b1', amount: units * 1e9, warn_at: null, block_unpriced: 0, prices_of: null },
    by: { via: 'http', name: 'root' },
  })

async function firedIn(db: Database, of = project) {
  const view = { rule: undefined, endpoint: undefined, type: undefined, state: undefined, before: undefined }
  const events = await readEvents(db, { project: of, limit: 100, ...view })
  return events.reverse().map(({ body }) => JSON.parse(body).data.budget)
}

export function budgetAlerts(open: Driver['open']): void {
  describe('alerts on budgets', () => {
    test('a rule fires with the answer that passes the share, once in a window', async (t) => {
      const db = await open(t)
      await db.write('addAlertRule', ruleOf())
      await addBudget(db, budgetOf())
      await spend(db, 'a', 79)
      assert.deepEqual(await firedIn(db), [])
      await spend(db, 'b', 1)
      const fired = {
        ...{ id: 'b1', window: 'month', from: new Date(month / 1000).toISOString().replace('.000', '') },
        to: new Date(windowAt('month', month).endsAt / 1000).toISOString().replace('.000', ''),
        ...{ share: 0.8, spent: '80', amount: '100', currency: 'USD' },
      }
      assert.deepEqual(await firedIn(db), [fired])
      await spend(db, 'c', 5)
      // What is settled again adds nothing.
      await db.write('settleSpend', [
        { id: 'c', shares: [{ budget_id: 'b1', starts_at: month, amount: 9e9 }] },
      ])
      assert.equal((await firedIn(db)).length, 1)
      const next = windowAt('month', month).endsAt
      await spend(db, 'd', 90, ['b1'], next)
      assert.deepEqual(
        (await firedIn(db)).map(({ from, spent }) => [from, spent]),
        [
          [fired.from, '80'],
          [fired.to, '90'],
        ],
      )
    })

    test('a lower amount fires, and a share that is passed anew in the window does not', async (t) => {
      const db = await open(t)
      await db.write('addAlertRule', ruleOf())
      await addBudget(db, budgetOf())
      await spend(db, 'a', 70)
      await setAmount(db, 88)
      assert.deepEqual(await firedIn(db), [])
      await setAmount(db, 87)
      assert.deepEqual(
        (await firedIn(db)).map(({ spent, amount }) => [spent, amount]),
        [['70', '87']],
      )
      await setAmount(db, 100)
      await spend(db, 'b', 20)
      assert.equal((await firedIn(db)).length, 1)
    })

    test('only budgets of the project itself fire its rules', async (t) => {
      const db = await open(t)
      const other = 'globex/qa'
      await db.write('addAlertRule', ruleOf())
      await db.write('addAlertRule', ruleOf({ project_id: other, id: 'theirs' }))
      await db.write('addAlertRule', ruleOf({ id: 'paused', active: 0 }))
      await addBudget(db, budgetOf({ id: 'e', scope: 'entity', subject: 'acme' }))
      await addBudget(db, budgetOf({ id: 's', scope: 'server', subject: '' }))
      // A user may have the name of a project.
      await addBudget(db, budgetOf({ id: 'u', scope: 'user', subject: project }))
      await spend(db, 'a', 90, ['e', 's', 'u'])
      assert.deepEqual([await firedIn(db), await firedIn(db, other)], [[], []])
      await addBudget(db, budgetOf())
      await spend(db, 'b', 90)
      assert.deepEqual([(await firedIn(db)).map(({ id }) => id), await firedIn(db, other)], [['b1'], []])
    })

    test('a cool-down holds back what other budgets of the project pass', async (t) => {
      const db = await open(t)
      await db.write('addAlertRule', ruleOf({ cooldown: 3_600 }))
      await addBudget(db, budgetOf())
      await addBudget(db, budgetOf({ id: 'b2', currency: 'EUR' }))
      await addBudget(db, budgetOf({ id: 'b3', currency: 'GBP' }))
      await spend(db, 'a', 80)
      await spend(db, 'b', 85, ['b2', 'b3'])
      assert.deepEqual(
        (await firedIn(db)).map(({ id }) => id),
        ['b1'],
      )
    })

    test('answers that end at the same moment pass the share once', async (t) => {
      const db = await open(t)
      await db.write('addAlertRule', ruleOf())
      await addBudget(db, budgetOf())
      await Promise.all(Array.from({ length: 20 }, (_, n) => spend(db, `a${n}`, 5)))
      assert.deepEqual(
        (await firedIn(db)).map(({ id, share }) => [id, share]),
        [['b1', 0.8]],
      )
    })
  })
}
