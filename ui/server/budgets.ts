import type { z } from 'zod'
import type { BudgetsAnswer } from '../../src/operations/budgets/contract.ts'
import type { AuditAnswer, AuditBody } from '../../src/operations/people/contract.ts'
import { requestJson } from './request.ts'

export type Budget = z.output<typeof BudgetsAnswer>['budgets'][number]

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

type Audit = z.output<typeof AuditAnswer>
export type AuditEntry = Audit['entries'][number]

export const readAudit = (view: AuditBody, signal: AbortSignal) =>
  requestJson<Audit>('/audit/query', { body: view, signal })

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
