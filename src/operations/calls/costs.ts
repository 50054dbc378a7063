import { formatTime } from '../../domain/time.ts'
import type { Price } from '../../storage/prices.ts'

type Usage = Record<string, unknown>

/**
 * What the models of a call cost, by the prices of the project: for each model the price that was in force when the call
 * started, else the next one to come.
 */
export function costsOf(
  usage: unknown,
  startedAt: number,
  prices: readonly Price[],
): Record<string, unknown> | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined
  const costs: [model: string, cost: unknown][] = []
  for (const [model, used] of Object.entries(usage)) {
    const price = priceOf(prices, model, startedAt)
    if (price && typeof used === 'object' && used !== null) costs.push([model, costOf(used as Usage, price)])
  }
  return costs.length > 0 ? Object.fromEntries(costs) : undefined
}

export function priceOf(prices: readonly Price[], model: string, startedAt: number): Price | undefined {
  let best: Price | undefined
  for (const price of prices) {
    if (price.llm_id === model && (best === undefined || isBetter(price, best, startedAt))) best = price
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

function costOf(used: Usage, price: Price) {
  const count = (name: string) => (typeof used[name] === 'number' ? used[name] : 0)
  const prompt = count('prompt_tokens') + count('input_tokens')
  const completion = count('completion_tokens') + count('output_tokens')
  const cacheRead = count('cache_read_input_tokens')
  const cacheCreation = count('cache_creation_input_tokens')
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    requests: count('requests'),
    total_tokens: count('total_tokens'),
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheCreation,
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
