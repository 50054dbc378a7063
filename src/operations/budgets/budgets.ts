import { windowAt } from '../../domain/budgets.ts'
import { byCaller, type Caller, hasAccess, requireAccess } from '../../domain/callers.ts'
import { entityName, projectId } from '../../domain/fields.ts'
import { newId } from '../../domain/ids.ts'
import { amountOf, amountText } from '../../domain/money.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import { formatTime, now } from '../../domain/time.ts'
import { type Budget, readBudgets } from '../../storage/limits/budgets.ts'
import { hasUser, listKeys, ownerOfKey } from '../../storage/users/users.ts'
import type { OperationParts } from '../parts.ts'
import type { ChangeBudgetBody, CreateBudgetBody } from './contract.ts'
import { subjectOf } from './spending.ts'

type BudgetParts = Pick<OperationParts, 'db' | 'people' | 'budgets'>

/** The list is held in memory. */
const maxBudgets = 10_000

type StoredBudget = Awaited<ReturnType<typeof readBudgets>>[number]

function shown({ period, created_at, amount, spent, held, ...budget }: StoredBudget, time: number) {
  return {
    ...budget,
    subject: budget.scope === 'server' ? null : budget.subject,
    window: period,
    amount: amountText(amount),
    block_unpriced: budget.block_unpriced === 1,
    created_at: formatTime(created_at),
    spent: amountText(spent),
    reserved: amountText(held),
    left: amountText(Math.max(0, amount - spent - held)),
    opens_at: formatTime(windowAt(period, time).endsAt),
  }
}

/** Those of projects and entities that the caller may not use do not exist for it. */
const isVisible = (caller: Caller, { scope, subject }: Budget) =>
  (scope !== 'project' && scope !== 'entity') ||
  hasAccess(caller, scope === 'project' ? subject : `${subject}/`, 'read')

async function readAll({ db }: BudgetParts, caller: Caller, time: number): Promise<StoredBudget[]> {
  const [day, month] = (['day', 'month'] as const).map((period) => windowAt(period, time).startsAt)
  const all = await readBudgets(db, { day: day as number, month: month as number, now: time })
  return all.filter((budget) => isVisible(caller, budget))
}

/** An admin sees all budgets, a member those that count its own answers. */
export async function listed(services: BudgetParts, caller: Caller) {
  const time = now()
  const all = await readAll(services, caller, time)
  if (caller.role === 'admin') return { budgets: all.map((budget) => shown(budget, time)) }
  const keys = await listKeys(services.db, caller.name)
  const isOwn = ({ scope, subject }: Budget) =>
    (scope !== 'user' || subject === caller.name) &&
    (scope !== 'key' || keys.some(({ id }) => id === subject))
  const pricesOf = ({ prices_of }: Budget) =>
    prices_of !== null && hasAccess(caller, prices_of, 'read') ? prices_of : null
  const own = all.filter(isOwn).map((budget) => ({ ...budget, prices_of: pricesOf(budget) }))
  return { budgets: own.map((budget) => shown(budget, time)) }
}

async function found(services: BudgetParts, caller: Caller, id: string) {
  const time = now()
  const budget = (await readAll(services, caller, time)).find((stored) => stored.id === id)
  if (budget === undefined) throw refuse('budget_not_found', { id })
  return { budget: shown(budget, time), stored: budget }
}

/** Who or what the budget is for must exist, as far as that can be known: projects are created by their first write. */
async function subjectAsked(
  { db, people }: BudgetParts,
  caller: Caller,
  { scope, subject }: CreateBudgetBody,
): Promise<string> {
  const refused = (accepted: string) => wrong('subject', JSON.stringify(subject ?? null), accepted)
  if (scope === 'server') {
    if (subject != null) throw refused('null, because there is only one server')
    return ''
  }
  if (subject == null) throw refused(`the ${scope === 'key' ? 'id of a key' : `name of the ${scope}`}`)
  switch (scope) {
    case 'project':
      if (!projectId.safeParse(subject).success) throw refused('<entity>/<project>')
      requireAccess(caller, subject, 'subject')
      break
    case 'entity':
      if (subject === '*' || !entityName.safeParse(subject).success) throw refused('the name of an entity')
      requireAccess(caller, subject, 'subject')
      break
    case 'user':
      if (!people.some(({ name }) => name === subject) && !(await hasUser(db, subject)))
        throw refuse('user_not_found', { field: 'subject', name: subject })
      break
    case 'key':
      if ((await ownerOfKey(db, subject)) === undefined)
        throw refused('the id of a key, as GET /keys lists it')
  }
  return subject
}

/** Whoever only reads a project or an entity sees its budgets and leaves them as they are. */
function requireOwnSubject(caller: Caller, { scope, subject }: Budget): void {
  if (scope === 'project' || scope === 'entity') requireAccess(caller, subject, 'id')
}

function requirePrices(caller: Caller, project: string | null | undefined): string | null {
  if (project == null) return null
  requireAccess(caller, project, 'prices_of')
  return project
}

const usualWarning = 0.8

export async function createBudget(services: BudgetParts, caller: Caller, body: CreateBudgetBody) {
  const { db, budgets } = services
  const { scope, window, warn_at } = body
  const budget: Budget = {
    id: newId(),
    scope,
    subject: await subjectAsked(services, caller, body),
    period: window,
    currency: body.currency ?? 'USD',
    amount: amountOf(body.amount) as number,
    warn_at: warn_at === undefined ? usualWarning : warn_at,
    block_unpriced: body.block_unpriced ? 1 : 0,
    prices_of: requirePrices(caller, body.prices_of),
    created_at: now(),
    created_by: caller.name,
  }
  const outcome = await db.write('addBudget', { budget, max: maxBudgets, by: byCaller(caller) })
  if (outcome === 'full') throw refuse('too_many_budgets', { limit: maxBudgets })
  if (outcome === 'exists') {
    throw refuse('budget_exists', { subject: subjectOf(budget), window, currency: budget.currency })
  }
  budgets.changed()
  return { budget: shown({ ...budget, spent: 0, held: 0 }, now()) }
}

/** Fields that are absent stay as they are. */
export async function changeBudget(
  services: BudgetParts,
  caller: Caller,
  id: string,
  body: ChangeBudgetBody,
) {
  const { db, budgets } = services
  const { stored } = await found(services, caller, id)
  requireOwnSubject(caller, stored)
  const { amount, warn_at, block_unpriced, prices_of } = body
  const change = {
    id,
    amount: amount === undefined ? stored.amount : (amountOf(amount) as number),
    warn_at: warn_at === undefined ? stored.warn_at : warn_at,
    block_unpriced: block_unpriced == null ? stored.block_unpriced : Number(block_unpriced),
    prices_of: prices_of === undefined ? stored.prices_of : requirePrices(caller, prices_of),
  }
  if (!(await db.write('changeBudget', { ...change, by: byCaller(caller) })))
    throw refuse('budget_not_found', { id })
  budgets.changed()
  const { budget } = await found(services, caller, id)
  return { budget }
}

export async function deleteBudget(services: BudgetParts, caller: Caller, id: string) {
  const { db, budgets } = services
  const { stored } = await found(services, caller, id)
  requireOwnSubject(caller, stored)
  if (!(await db.write('deleteBudget', { id, by: byCaller(caller) })))
    throw refuse('budget_not_found', { id })
  budgets.changed()
  return {}
}
