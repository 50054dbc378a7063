import { membersOf, objectOf, objectText } from '../../../packages/json/index.ts'
import { createYieldToLoop, inSteps, type YieldToLoop } from '../../../packages/waiting/index.ts'
import { countIn, statedCost, statedPerUnit } from '../../domain/call-facts/facts.ts'
import { writeJson } from '../../domain/json/text.ts'
import { formatTime } from '../../domain/time.ts'
import type { CallRow } from '../../storage/calls/calls.ts'
import { type Price, pricesOfModels } from '../../storage/prices.ts'
import type { Reader } from '../../storage/transaction.ts'

/** Models whose prices are read at once. */
const namesAtOnce = 200
/** Models whose prices are cached while calls are read. */
const maxRemembered = 10_000

/**
 * Returns what a call cost, as JSON, by the prices of the project, or else as its client says. The prices of a model are read when a call first
 * names it.
 */
export function createPricing(
  db: Reader,
  projectId: string,
): (row: Pick<CallRow, 'summary' | 'started_at'>) => Promise<string | undefined> {
  const yieldToLoop = createYieldToLoop()
  const known = new Map<string, Price[]>()

  async function learn(models: readonly string[]): Promise<void> {
    if (known.size > maxRemembered) known.clear()
    const fresh = models.filter((model) => !known.has(model))
    for (let at = 0; at < fresh.length; at += namesAtOnce) {
      const names = fresh.slice(at, at + namesAtOnce)
      for (const name of names) known.set(name, [])
      for (const price of await pricesOfModels(db, projectId, names)) known.get(price.llm_id)?.push(price)
      const pause = yieldToLoop()
      if (pause) await pause
    }
  }

  return async ({ summary, started_at }) => {
    const text = summary === null ? undefined : membersOf(summary).get('usage')
    if (!text?.startsWith('{')) return undefined
    const usage = objectOf(text)
    await learn(Object.keys(usage))
    return costsOf(usage, started_at, known, yieldToLoop)
  }
}

/** Of all models. */
export const sumOfCosts = (costs: string): number =>
  Object.values(objectOf(costs))
    .flatMap((cost) => Object.entries(cost as Usage))
    .reduce((sum, [name, value]) => (name.endsWith('_total_cost') ? sum + Number(value) : sum), 0)

type Usage = Record<string, unknown>

/**
 * What the models of a call cost, by the prices of the project: for each model the price in force when the call
 * started, or else the first one after it. Of a model without one it is what the client says.
 */
export async function costsOf(
  usage: Usage,
  startedAt: number,
  prices: ReadonlyMap<string, readonly Price[]>,
  yieldToLoop: YieldToLoop,
): Promise<string | undefined> {
  const costs: [model: string, cost: string][] = []
  const add = ([model, used]: [string, unknown]) => {
    if (typeof used !== 'object' || used === null) return
    const price = priceOf(prices.get(model) ?? [], startedAt)
    const stated = statedCost(used)
    if (price) costs.push([model, writeJson(costOf(used as Usage, price))])
    else if (stated !== undefined)
      costs.push([
        model,
        writeJson({ ...countsOf(used as Usage), stated_total_cost: stated / statedPerUnit }),
      ])
  }
  await inSteps(Object.entries(usage), add, yieldToLoop)
  return costs.length > 0 ? objectText(costs) : undefined
}

/** Picks from the prices of one model. */
export function priceOf(prices: readonly Price[], startedAt: number): Price | undefined {
  let best: Price | undefined
  for (const price of prices) {
    if (best === undefined || isBetter(price, best, startedAt)) best = price
  }
  return best
}

function isBetter(price: Price, best: Price, startedAt: number): boolean {
  const inForce = price.effective_date <= startedAt
  if (inForce !== best.effective_date <= startedAt) return inForce
  if (price.effective_date !== best.effective_date) {
    return inForce === price.effective_date > best.effective_date
  }
  return price.created_at > best.created_at
}

function countsOf(used: Usage) {
  const count = (name: string) => countIn(used[name]) ?? 0
  const prompt = count('prompt_tokens') + count('input_tokens')
  const completion = count('completion_tokens') + count('output_tokens')
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    requests: count('requests'),
    total_tokens: count('total_tokens'),
    cache_read_input_tokens: count('cache_read_input_tokens'),
    cache_creation_input_tokens: count('cache_creation_input_tokens'),
  }
}

function costOf(used: Usage, price: Price) {
  const counts = countsOf(used)
  const { prompt_tokens: prompt, completion_tokens: completion } = counts
  const { cache_read_input_tokens: cacheRead, cache_creation_input_tokens: cacheCreation } = counts
  return {
    ...counts,
    prompt_token_cost: price.prompt_token_cost,
    completion_token_cost: price.completion_token_cost,
    cache_read_input_token_cost: price.cache_read_input_token_cost,
    cache_creation_input_token_cost: price.cache_creation_input_token_cost,
    prompt_tokens_total_cost: (prompt - cacheRead - cacheCreation) * price.prompt_token_cost,
    completion_tokens_total_cost: completion * price.completion_token_cost,
    cache_read_input_tokens_total_cost: cacheRead * price.cache_read_input_token_cost,
    cache_creation_input_tokens_total_cost: cacheCreation * price.cache_creation_input_token_cost,
    prompt_token_cost_unit: price.prompt_token_cost_unit,
    completion_token_cost_unit: price.completion_token_cost_unit,
    effective_date: formatTime(price.effective_date),
    provider_id: price.provider_id,
    pricing_level: 'project',
    pricing_level_id: price.project_id,
    created_at: formatTime(price.created_at),
    created_by: price.created_by,
  }
}
