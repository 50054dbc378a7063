import { Counter, type Registry } from '@prometheus-io/client'
import type { Budget } from '../../storage/limits/budgets.ts'

type Counted = Pick<Budget, 'scope' | 'period'>

export interface BudgetMetrics {
  refused(budget: Counted): void
  warned(budget: Counted): void
}

export function registerBudgetMetrics(registry: Registry): BudgetMetrics {
  const counter = (name: string, help: string) => {
    const counted = new Counter({
      name: `heddle_budget_${name}_total`,
      help,
      labelNames: ['scope', 'window'] as const,
      registers: [registry],
    })
    return ({ scope, period }: Counted) => counted.inc({ scope, window: period })
  }
  return {
    refused: counter('refusals', 'Requests that were refused because a budget has too little left.'),
    warned: counter('warnings', 'Answers that carried a warning that a budget is nearly used up.'),
  }
}
