import { type BudgetPeriod, type BudgetScope, windowAt } from '../../domain/budgets.ts'
import { now as timeNow } from '../../domain/time.ts'
import { type BudgetStep, fireForBudgets } from '../alerts/budgets.ts'
import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { type RowIn, tableOf } from '../sql/table.ts'
import { type Command, countOf, type Reader, type Transaction } from '../transaction.ts'

const budgets = tableOf('budgets', {
  id: 'text',
  scope: 'text',
  subject: 'text',
  period: 'text',
  currency: 'text',
  amount: 'number',
  warn_at: 'number?',
  block_unpriced: 'number',
  prices_of: 'text?',
  created_at: 'time',
  created_by: 'text',
})

/** Amounts are billionths of a unit of the currency. */
export type Budget = RowIn<typeof budgets> & { scope: BudgetScope; period: BudgetPeriod }

/** How far a budget is used in a window. */
interface BudgetState {
  amount: number
  spent: number
  /** What running answers may still cost. */
  held: number
}

/** The starts of the windows of today. */
interface Today {
  day: number
  month: number
  now: number
}

/**
 * One statement reads both sums: settling moves an amount from one to the other, and between two statements it would be
 * in neither.
 */
const sumsAt = (start: Sql, now: number) =>
  sql`coalesce((SELECT spent FROM budget_windows AS w WHERE w.budget_id = budgets.id AND w.starts_at = ${start}), 0) AS spent,
    coalesce((SELECT CAST(sum(h.amount) AS BIGINT) FROM budget_holds AS h
      WHERE h.budget_id = budgets.id AND h.starts_at = ${start} AND h.held_until > ${now}), 0) AS held`

export const listBudgets = (db: Reader): Promise<Budget[]> =>
  db.all<Budget>(sql`SELECT ${budgets.columns} FROM budgets ORDER BY id`)

export function readBudgets(db: Reader, { day, month, now }: Today): Promise<(Budget & BudgetState)[]> {
  const start = sql`CASE period WHEN 'day' THEN CAST(${day} AS BIGINT) ELSE CAST(${month} AS BIGINT) END`
  return db.all(
    sql`SELECT ${budgets.columns}, ${sumsAt(start, now)} FROM budgets ORDER BY scope, subject, period, currency`,
  )
}

const budgetLock = (id: string) => `budget ${id}`

export const addBudget: Command<{ budget: Budget; max: number }, 'added' | 'exists' | 'full'> = async (
  tx,
  { budget, max },
) => {
  await tx.lock('budgets')
  const { scope, subject, period, currency } = budget
  const same = sql`scope = ${scope} AND subject = ${subject} AND period = ${period} AND currency = ${currency}`
  if (await tx.get(sql`SELECT id FROM budgets WHERE ${same}`)) return 'exists'
  if ((await countOf(tx, rawSql('budgets'))) >= max) return 'full'
  await budgets.insert(tx, [budget])
  return 'added'
}

type BudgetChange = Pick<Budget, 'id' | 'amount' | 'warn_at' | 'block_unpriced' | 'prices_of'>

/** False if there is no such budget. */
export const changeBudget: Command<BudgetChange, boolean> = async (tx, budget) => {
  const { id, amount, warn_at, block_unpriced, prices_of } = budget
  await tx.lock(budgetLock(id))
  const known = await budgets.get<Budget>(tx, sql`id = ${id}`)
  if (known === undefined) return false
  await tx.run(
    sql`UPDATE budgets SET amount = ${amount}, warn_at = ${warn_at}, block_unpriced = ${block_unpriced},
        prices_of = ${prices_of} WHERE id = ${id}`,
  )
  const time = timeNow()
  const { startsAt: starts_at } = windowAt(known.period, time)
  // Waits for what is being settled: it counts with the old amount, or with the new one.
  const spent = await addSpent(tx, { budget_id: id, starts_at, amount: 0 })
  const before = { spent, amount: Number(known.amount) }
  await fireForBudgets(tx, [{ budget: known, starts_at, before, after: { spent, amount } }], time)
  return true
}

/** With what was spent of it. False if there is no such budget. */
export const deleteBudget: Command<{ id: string }, boolean> = async (tx, { id }) => {
  await tx.lock(budgetLock(id))
  if ((await tx.run(sql`DELETE FROM budgets WHERE id = ${id}`)) === 0) return false
  await tx.run(sql`DELETE FROM budget_windows WHERE budget_id = ${id}`)
  await tx.run(sql`DELETE FROM budget_holds WHERE budget_id = ${id}`)
  return true
}

/** What an answer takes of one budget. */
interface BudgetShare {
  budget_id: string
  /** Of the window. */
  starts_at: number
  amount: number
}

interface Reservation {
  /** Of the answer. */
  id: string
  /** By budget. */
  shares: readonly BudgetShare[]
  now: number
  until: number
}

/** The budget that has too little left, or the state of all of them before this answer. */
export type Reserved =
  | { exceeded: BudgetState & { budget_id: string } }
  | { states: Map<string, BudgetState> }

/** Reserves what an answer may cost of all its budgets, or of none. A budget that was deleted counts nothing. */
export const reserveSpend: Command<Reservation, Reserved> = async (tx, { id, shares, now, until }) => {
  const states = new Map<string, BudgetState>()
  const inOrder = shares.toSorted((a, b) => (a.budget_id < b.budget_id ? -1 : 1))
  for (const { budget_id, starts_at, amount } of inOrder) {
    await tx.lock(budgetLock(budget_id))
    const state = await tx.get<BudgetState>(
      sql`SELECT amount, ${sumsAt(sql`${starts_at}`, now)} FROM budgets WHERE id = ${budget_id}`,
    )
    if (state === undefined) continue
    if (state.spent + state.held + amount > state.amount) return { exceeded: { ...state, budget_id } }
    states.set(budget_id, state)
  }
  for (const { budget_id, starts_at, amount } of inOrder) {
    if (!states.has(budget_id)) continue
    await tx.run(
      sql`INSERT INTO budget_holds (budget_id, starts_at, id, amount, held_until)
          VALUES (${budget_id}, ${starts_at}, ${id}, ${amount}, ${until})`,
    )
  }
  return { states }
}

/** What an answer has cost, in place of what was reserved for it. */
export interface Settlement {
  id: string
  shares: readonly BudgetShare[]
}

/** Settling the same answer again changes nothing: what was reserved for it is gone. */
export async function settleSpend(tx: Transaction, settlements: readonly Settlement[]): Promise<void> {
  const sums = new Map<string, BudgetShare>()
  // In the order in which holds are renewed.
  for (const { id, shares } of settlements.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    for (const { budget_id, starts_at, amount } of shares) {
      const settled = await tx.run(
        sql`DELETE FROM budget_holds WHERE budget_id = ${budget_id} AND starts_at = ${starts_at} AND id = ${id}`,
      )
      if (settled === 0) continue
      const key = `${budget_id} ${starts_at}`
      sums.set(key, { budget_id, starts_at, amount: amount + (sums.get(key)?.amount ?? 0) })
    }
  }
  const spent: (BudgetShare & { spent: number })[] = []
  // In the same order everywhere, so that no two servers wait for each other.
  for (const [, { budget_id, starts_at, amount }] of [...sums].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (amount === 0) continue
    const sum = await addSpent(tx, { budget_id, starts_at, amount })
    spent.push({ budget_id, starts_at, amount, spent: sum })
  }
  if (spent.length > 0) await fireForBudgets(tx, await stepsOf(tx, spent), timeNow())
}

/** Returns the sum, which is locked from now on. */
async function addSpent(tx: Transaction, { budget_id, starts_at, amount }: BudgetShare): Promise<number> {
  const window = await tx.get<{ spent: number }>(
    sql`INSERT INTO budget_windows (budget_id, starts_at, spent) VALUES (${budget_id}, ${starts_at}, ${amount})
        ON CONFLICT (budget_id, starts_at) DO UPDATE SET spent = budget_windows.spent + excluded.spent RETURNING spent`,
  )
  return Number(window?.spent)
}

async function stepsOf(
  tx: Transaction,
  windows: readonly (BudgetShare & { spent: number })[],
): Promise<BudgetStep[]> {
  const ids = [...new Set(windows.map(({ budget_id }) => budget_id))]
  const affected = await budgets.all<Budget>(tx, sql`id IN (${listOf(ids)}) AND scope = 'project'`)
  return affected.flatMap((budget) =>
    windows
      .filter(({ budget_id }) => budget_id === budget.id)
      .map(({ starts_at, amount: added, spent }) => {
        const amount = Number(budget.amount)
        return { budget, starts_at, before: { spent: spent - added, amount }, after: { spent, amount } }
      }),
  )
}

/** Old enough that no server could still settle them. */
const forgottenAfter = 86_400_000_000

/** For answers that are still running. Removes what servers that have ended left behind. */
export const renewHolds: Command<{ holds: readonly Settlement[]; now: number; until: number }, void> = async (
  tx,
  { holds, now, until },
) => {
  const shares = holds.flatMap(({ id, shares: own }) => own.map((share) => ({ ...share, id })))
  for (const { budget_id, starts_at, id } of shares.sort((a, b) => (a.id < b.id ? -1 : 1))) {
    await tx.run(
      sql`UPDATE budget_holds SET held_until = ${until}
          WHERE budget_id = ${budget_id} AND starts_at = ${starts_at} AND id = ${id}`,
    )
  }
  await tx.run(sql`DELETE FROM budget_holds WHERE held_until < ${now - forgottenAfter}`)
}
