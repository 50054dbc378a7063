import { family, operationsUnder } from '../parts.ts'
import { changeBudget, createBudget, deleteBudget, listed } from './budgets.ts'
import * as contract from './contract.ts'

const operation = operationsUnder('people')

export const budgetRoutes = family(
  operation('GET', '/budgets', {
    right: 'own',
    summary: 'List the budgets that count your answers; admins see all',
    answer: contract.BudgetsAnswer,
    rule: (services, { caller }) => listed(services, caller),
  }),
  operation('POST', '/budgets', {
    right: 'operate',
    summary: 'Create a budget in money',
    body: contract.CreateBudgetBody,
    answer: contract.BudgetAnswer,
    refusals: ['role_forbidden', 'invalid_value', 'user_not_found', 'budget_exists'],
    rule: (services, { caller, body }) => createBudget(services, caller, body),
  }),
  operation('PUT', '/budgets/:id', {
    right: 'operate',
    summary: 'Change a budget; what is spent stays',
    params: contract.BudgetPath,
    body: contract.ChangeBudgetBody,
    answer: contract.BudgetAnswer,
    refusals: ['role_forbidden', 'budget_not_found'],
    rule: (services, { caller, params, body }) => changeBudget(services, caller, params.id, body),
  }),
  operation('DELETE', '/budgets/:id', {
    right: 'operate',
    summary: 'Delete a budget',
    params: contract.BudgetPath,
    answer: contract.DeletedAnswer,
    refusals: ['role_forbidden', 'budget_not_found'],
    rule: (services, { caller, params }) => deleteBudget(services, caller, params.id),
  }),
)
