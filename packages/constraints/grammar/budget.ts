/**
 * What one compilation may cost, counted in steps instead of time, so that the same source is refused or accepted on
 * every machine. A step is a state, an edge or a rule: something that takes about a microsecond.
 */
export interface Budget {
  /** Throws BudgetExceededError once the whole compilation has spent more than it may. */
  spend(steps: number): void
}

export class BudgetExceededError extends Error {
  override readonly name = 'BudgetExceededError'
}

export function createBudget(steps: number): Budget {
  let left = steps
  return {
    spend(spent) {
      left -= spent
      if (left < 0) throw new BudgetExceededError('it takes too many steps to compile')
    },
  }
}
