import { setTimeout as sleep } from 'node:timers/promises'
import type { Registry } from '@prometheus-io/client'
import { type BudgetWindow, subjectsOf, windowAt } from '../../domain/budgets.ts'
import type { Caller } from '../../domain/callers.ts'
import { newId } from '../../domain/ids.ts'
import { amountText, costOfTokens, exactPrice, type TokenCount, type TokenPrice } from '../../domain/money.ts'
import { refuse } from '../../domain/refusals.ts'
import { formatTime, now } from '../../domain/time.ts'
import { createMeters } from '../../http/metrics.ts'
import type { Database } from '../../storage/database.ts'
import { type Budget, listBudgets } from '../../storage/limits/budgets.ts'
import { pricesOfModels } from '../../storage/prices.ts'
import { type BackgroundWork, inBackground } from '../background.ts'
import { priceOf } from '../calls/costs.ts'
import { createHolds, type Hold, type PricedShare } from './holds.ts'

export const budgetHeader = 'x-heddle-budget'

/** Changes that another server has made take effect after this time. */
const freshMs = 1_000
/** What was reserved by a server that has ended is free again after this time. */
const leaseMs = 60_000
const renewMs = 15_000
/** An answer that ended a moment ago is settled before the next one is refused. */
const settlingMs = 2_000

/** Whose answer it is, and where it belongs. */
export interface SpendAccount {
  caller: Caller
  project: string
  signal: AbortSignal
  /** Receives what a header says about budgets that are nearly used up. */
  warn?: ((text: string) => void) | undefined
}

/** Reserves what an answer by one of these models may cost. Undefined if it costs nothing. */
type Reserve = (models: readonly string[], tokens: TokenCount) => Promise<Hold | undefined>

export interface Budgets {
  /** Undefined if no budget counts the answer. */
  of(account: SpendAccount): Promise<Reserve | undefined>
  /** Budgets were changed here. */
  changed(): void
  /** Renews what is reserved, and tries again to settle what could not be written. */
  start(failed: (error: unknown) => void): BackgroundWork
  /** Settles what has ended. */
  close(): Promise<void>
}

interface BudgetsParts {
  db: Database
  metrics: BudgetMetrics
  /** A request was refused because of a budget. */
  refused(user: string): void
  /** Once for each window of a budget. */
  warned(state: object): void
}

/** Nothing but a short list is read now and then as long as there are no budgets. */
export function createBudgets({ db, metrics, refused, warned }: BudgetsParts): Budgets {
  const holds = createHolds(db)
  let bySubject = new Map<string, Budget[]>()
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined
  /** The window of each budget that was last reported. */
  const reported = new Map<string, number>()

  async function read(): Promise<void> {
    const at = performance.now()
    const all = await listBudgets(db)
    bySubject = Map.groupBy(all, ({ scope, subject }) => `${scope} ${subject}`)
    readAt = at
  }

  async function budgetsOf({ caller, project }: SpendAccount): Promise<Budget[]> {
    if (performance.now() - readAt >= freshMs) {
      reading ??= read().finally(() => {
        reading = undefined
      })
      await reading
    }
    if (bySubject.size === 0) return []
    const subjects = subjectsOf({ user: caller.name, keyId: caller.key?.id, project })
    return subjects.flatMap(([scope, subject]) => bySubject.get(`${scope} ${subject}`) ?? [])
  }

  /** The share of each budget, at the prices of now: a later price changes nothing for this answer. */
  async function sharesOf(
    budgets: readonly Budget[],
    { project }: SpendAccount,
    models: readonly string[],
    tokens: TokenCount,
    time: number,
  ): Promise<Map<string, PricedShare>> {
    const shares = new Map<string, PricedShare>()
    for (const budget of budgets) {
      const { id, currency, period, prices_of } = budget
      const all = await pricesOfModels(db, prices_of ?? project, models)
      const prices = new Map<string, TokenPrice>()
      for (const model of models) {
        const named = all.filter(({ llm_id, ...price }) => llm_id === model && isIn(price, currency))
        const price = priceOf(named, time)
        if (price !== undefined) {
          const { prompt_token_cost, completion_token_cost } = price
          prices.set(model, {
            prompt: exactPrice(prompt_token_cost),
            completion: exactPrice(completion_token_cost),
          })
        } else if (budget.block_unpriced) {
          throw refuse('model_unpriced', { subject: subjectOf(budget), currency, model })
        }
      }
      const amount = Math.max(0, ...[...prices.values()].map((price) => costOfTokens(tokens, price)))
      if (amount > 0) shares.set(id, { starts_at: windowAt(period, time).startsAt, amount, prices })
    }
    return shares
  }

  async function reserve(
    budgets: readonly Budget[],
    account: SpendAccount,
    models: readonly string[],
    tokens: TokenCount,
  ): Promise<Hold | undefined> {
    const time = now()
    const shares = await sharesOf(budgets, account, models, tokens, time)
    if (shares.size === 0) return undefined
    const attempt = () =>
      holds.reserve({ id: newId(), shares, now: now(), until: now() + leaseMs * 1000 }, account.caller.name)
    let { reserved, hold } = await attempt()
    if ('exceeded' in reserved && holds.isSettling) {
      await Promise.race([holds.settled(), sleep(settlingMs, undefined, { ref: false })])
      ;({ reserved, hold } = await attempt())
    }
    if ('exceeded' in reserved) {
      const { budget_id, amount, spent, held } = reserved.exceeded
      const budget = budgets.find(({ id }) => id === budget_id) as Budget
      refused(account.caller.name)
      metrics.refused(budget)
      const window = windowAt(budget.period, time)
      throw refuse('budget_exceeded', {
        ...{ subject: subjectOf(budget), currency: budget.currency, window: budget.period },
        cost: amountText(shares.get(budget_id)?.amount ?? 0),
        left: amountText(Math.max(0, amount - spent - held)),
        amount: amountText(amount),
        opens: formatTime(window.endsAt),
        seconds: Math.max(1, Math.ceil((window.endsAt - time) / 1_000_000)),
      })
    }
    const warnings: string[] = []
    for (const budget of budgets) {
      const state = reserved.states.get(budget.id)
      const { warn_at } = budget
      if (state === undefined || warn_at === null || state.spent < state.amount * warn_at) continue
      const window = windowAt(budget.period, time)
      warnings.push(warningOf({ ...budget, ...state }, window))
      metrics.warned(budget)
      if (reported.get(budget.id) === window.startsAt) continue
      reported.set(budget.id, window.startsAt)
      warned({ budget: budget.id, spent: amountText(state.spent), amount: amountText(state.amount) })
    }
    if (warnings.length > 0) account.warn?.(warnings.join(', '))
    return hold
  }

  return {
    async of(account) {
      const budgets = await budgetsOf(account)
      if (budgets.length === 0) return undefined
      return (models, tokens) => reserve(budgets, account, models, tokens)
    },
    changed() {
      readAt = Number.NEGATIVE_INFINITY
    },
    start: (failed) =>
      inBackground({
        firstMs: renewMs,
        failedMs: renewMs,
        failed,
        async run() {
          await holds.renew(now() + leaseMs * 1000)
          return renewMs
        },
      }),
    close: () => holds.close(),
  }
}

interface Units {
  prompt_token_cost_unit: string
  completion_token_cost_unit: string
}

/** Money is not converted: a price in another currency is none. */
const isIn = (price: Units, currency: string) =>
  price.prompt_token_cost_unit === currency && price.completion_token_cost_unit === currency

/** As refusals name it. */
export const subjectOf = ({ scope, subject }: Pick<Budget, 'scope' | 'subject'>) =>
  scope === 'server' ? 'this server' : `the ${scope} ${subject}`

const warningOf = (budget: Budget & { spent: number }, { endsAt }: BudgetWindow) =>
  [
    budget.id,
    `scope=${budget.scope}`,
    `spent=${amountText(budget.spent)}`,
    `amount=${amountText(budget.amount)}`,
    `currency=${budget.currency}`,
    `until=${formatTime(endsAt)}`,
  ].join(';')

type Counted = Pick<Budget, 'scope' | 'period'>

interface BudgetMetrics {
  refused(budget: Counted): void
  warned(budget: Counted): void
}

export function registerBudgetMetrics(registry: Registry): BudgetMetrics {
  const meters = createMeters(registry)
  const counter = (name: string, help: string) => {
    const counted = meters.counter(`budget_${name}_total`, help, 'scope', 'window')
    return ({ scope, period }: Counted) => counted.inc({ scope, window: period })
  }
  return {
    refused: counter('refusals', 'Requests that were refused because a budget has too little left.'),
    warned: counter('warnings', 'Answers that carried a warning that a budget is nearly used up.'),
  }
}
