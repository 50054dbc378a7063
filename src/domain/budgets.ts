import { entityOf } from './callers.ts'

export const budgetScopes = ['server', 'entity', 'project', 'user', 'key'] as const
export type BudgetScope = (typeof budgetScopes)[number]

export const budgetPeriods = ['day', 'month'] as const
export type BudgetPeriod = (typeof budgetPeriods)[number]

/** Microseconds. */
export interface BudgetWindow {
  startsAt: number
  endsAt: number
}

/** The day or month, in UTC, that a time belongs to. */
export function windowAt(period: BudgetPeriod, time: number): BudgetWindow {
  const date = new Date(Math.floor(time / 1000))
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  const [starts, ends] =
    period === 'day'
      ? [Date.UTC(year, month, day), Date.UTC(year, month, day + 1)]
      : [Date.UTC(year, month), Date.UTC(year, month + 1)]
  return { startsAt: starts * 1000, endsAt: ends * 1000 }
}

interface Spender {
  user: string
  /** Absent for a key of HEDDLE_USERS, and for work of the server. */
  keyId?: string | undefined
  /** Of the answer. */
  project: string
}

/** The scopes and subjects of all budgets that count an answer. */
export const subjectsOf = ({ user, keyId, project }: Spender): [BudgetScope, string][] => [
  ['server', ''],
  ['entity', entityOf(project)],
  ['project', project],
  ['user', user],
  ...(keyId === undefined ? [] : [['key', keyId] as [BudgetScope, string]]),
]
