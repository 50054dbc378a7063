import { type BudgetPeriod, type BudgetScope, windowAt } from '../../domain/budgets.ts'
import { amountText } from '../../domain/money.ts'
import { formatTime } from '../../domain/time.ts'
import type { Transaction } from '../transaction.ts'
import { fire } from './firing.ts'
import type { Happened } from './outbox.ts'
import { watchedIn } from './watched.ts'

/** What is spent of a window, and the amount of the budget, in billionths. */
interface Use {
  spent: number
  amount: number
}

/** A write that changes one of them. */
export interface BudgetStep {
  budget: { id: string; scope: BudgetScope; subject: string; period: BudgetPeriod; currency: string }
  /** Of the window. */
  starts_at: number
  before: Use
  after: Use
}

/**
 * Called after budgets were spent of or changed: fires the rules of their projects whose share is passed by it. A budget
 * of anything but a project counts what other projects spend, which is not for the rules of one.
 *
 * Called when the sums of all budgets of the write are locked, so that no write has the lock of a rule and waits for a sum.
 */
export async function fireForBudgets(
  tx: Transaction,
  steps: readonly BudgetStep[],
  now: number,
): Promise<void> {
  const byProject = Map.groupBy(
    steps.filter(({ budget }) => budget.scope === 'project'),
    ({ budget }) => budget.subject,
  )
  for (const [project, own] of [...byProject].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const { budgets: rules } = await watchedIn(tx, project)
    for (const rule of rules) {
      const { budget } = rule.condition
      if (budget === undefined) continue
      const passing = own.filter(
        ({ before, after }) => !isPassed(before, budget.share) && isPassed(after, budget.share),
      )
      const happened = passing.map((step) => aboutBudget(step, budget.share))
      await fire(tx, rule, happened, now)
    }
  }
}

export const isPassed = ({ spent, amount }: Use, share: number): boolean => spent >= amount * share

/** The subject names the window and not the share, so that a rule fires once in it, also when the amount is raised. */
function aboutBudget({ budget, starts_at, after }: BudgetStep, share: number): Happened {
  const { id, period, currency } = budget
  return {
    subject: `budget ${id} ${starts_at}`,
    data: {
      budget: {
        ...{ id, window: period, from: formatTime(starts_at) },
        to: formatTime(windowAt(period, starts_at).endsAt),
        ...{ share, spent: amountText(after.spent), amount: amountText(after.amount), currency },
      },
    },
  }
}
