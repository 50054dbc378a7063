import { requestJson } from './request.ts'

export interface Budget {
  id: string
  scope: string
  /** Null for the server. */
  subject: string | null
  window: 'day' | 'month'
  currency: string
  amount: string
  warn_at: number | null
  block_unpriced: boolean
  prices_of: string | null
  spent: string
  left: string
  opens_at: string
}

/** Those that count the answers of the signed-in user; operators see all. */
export const readBudgets = async (signal: AbortSignal) =>
  (await requestJson<{ budgets: Budget[] }>('/budgets', { signal })).budgets

export type BudgetChange = Pick<Budget, 'amount' | 'warn_at' | 'block_unpriced' | 'prices_of'>

export const makeBudget = (body: Pick<Budget, 'scope' | 'subject' | 'window' | 'currency'> & BudgetChange) =>
  requestJson('/budgets', { body })

const pathOf = (id: string) => `/budgets/${encodeURIComponent(id)}`

export const changeBudget = (id: string, body: BudgetChange) =>
  requestJson(pathOf(id), { method: 'PUT', body })

export const deleteBudget = (id: string) => requestJson(pathOf(id), { method: 'DELETE' })

export interface AuditEntry {
  id: string
  at: string
  via: string | null
  actor: string | null
  action: string
  project_id: string | null
  count: number | null
  details: Record<string, unknown>
}

interface AuditView {
  actor?: string | undefined
  action?: string | undefined
  from?: string | undefined
  until?: string | undefined
  before?: string | undefined
}

export const readAudit = (view: AuditView, signal: AbortSignal) =>
  requestJson<{ entries: AuditEntry[]; next: string | null }>('/audit/query', { body: view, signal })

export interface Price {
  id: string
  llm_id: string
  provider_id: string
  /** Of one token. */
  prompt_token_cost: number
  completion_token_cost: number
  prompt_token_cost_unit: string
  effective_date: string
  created_by: string
}

export const readPrices = async (project_id: string, signal: AbortSignal) => {
  const sort_by = [
    { field: 'llm_id', direction: 'asc' },
    { field: 'effective_date', direction: 'desc' },
  ]
  return (await requestJson<{ results: Price[] }>('/cost/query', { body: { project_id, sort_by }, signal }))
    .results
}

export const setPrice = (project_id: string, model: string, cost: object) =>
  requestJson('/cost/create', { body: { project_id, costs: { [model]: cost } } })

export const removePrice = (project_id: string, id: string) =>
  requestJson('/cost/purge', {
    body: { project_id, query: { $expr: { $eq: [{ $getField: 'id' }, { $literal: id }] } } },
  })
