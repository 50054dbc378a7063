import { statedPerUnit } from '../../domain/call-facts/facts.ts'
import type { BoundDatabase, Database } from '../../storage/database.ts'
import { type Price, pricesOfProject } from '../../storage/prices.ts'
import type { Unit } from '../../storage/sums/reading.ts'
import { summedTokens } from '../../storage/views/summed-groups.ts'
import { readTokenSums, type TokensView } from '../../storage/views/token-sums.ts'
import { priceOf } from '../calls/costs.ts'

/**
 * Most price changes within one chart; only the latest count. Calls before those have the price at the start of the
 * chart.
 */
const maxDates = 50

interface BucketCost {
  cost: number | null
  /** Calls that used tokens of a model without a price, and state no cost, or of several models. */
  unpriced: number
}

interface ChartPrices {
  byModel: ReadonlyMap<string, readonly Price[]>
  /** When they change within the chart. */
  dates: readonly number[]
}

export async function chartPrices(
  db: Database,
  project: string,
  { from, end }: { from: number; end: number },
): Promise<ChartPrices> {
  const byModel = Map.groupBy(await pricesOfProject(db, project), ({ llm_id }) => llm_id)
  const dates = [...new Set([...byModel.values()].flat().map(({ effective_date }) => effective_date))]
    .filter((date) => date > from && date < end)
    .sort((date, other) => date - other)
    .slice(-maxDates)
  return { byModel, dates }
}

/** The cost of the calls of each bucket and group; `keyOf` combines the two. */
export async function readBucketCosts(
  db: BoundDatabase,
  view: Omit<TokensView, 'dates'>,
  { byModel: prices, dates }: ChartPrices,
  units: readonly Unit[] | undefined,
  keyOf: (bucket: number, group: string | null) => number,
  time: number,
): Promise<Map<number, BucketCost>> {
  const costs = new Map<number, BucketCost>()
  const sums = units
    ? summedTokens(units, { ...view, dates })
    : await readTokenSums(db, { ...view, dates }, time)
  for (const sum of sums) {
    const key = keyOf(sum.bucket, sum.group)
    const known = costs.get(key) ?? { cost: null, unpriced: 0 }
    costs.set(key, known)
    const at = sum.period === 0 ? view.from : (dates[sum.period - 1] as number)
    const price = sum.model === null ? undefined : priceOf(prices.get(sum.model) ?? [], at)
    if (price === undefined) known.unpriced += sum.count - sum.stated_count
    if (price === undefined && sum.stated_count === 0) continue
    const cost = price === undefined ? sum.stated / statedPerUnit : costOf(sum, price)
    known.cost = (known.cost ?? 0) + cost
  }
  return costs
}

/** What the calls of a unit cost that used this model; a call of several models has no price here. */
export function costOfUnit(model: string, { at, figures }: Unit, { byModel }: ChartPrices): number {
  const price = priceOf(byModel.get(model) ?? [], at)
  const [, input = 0, output = 0, cache_read = 0, cache_creation = 0, stated = 0] =
    figures.usage.get(model) ?? []
  return price === undefined
    ? stated / statedPerUnit
    : costOf({ input, output, cache_read, cache_creation }, price)
}

/** The same formula as for the cost of a call, in operations/calls/costs.ts. */
function costOf(
  {
    input,
    output,
    cache_read,
    cache_creation,
  }: Record<'input' | 'output' | 'cache_read' | 'cache_creation', number>,
  price: Price,
): number {
  return (
    (input - cache_read - cache_creation) * price.prompt_token_cost +
    output * price.completion_token_cost +
    cache_read * price.cache_read_input_token_cost +
    cache_creation * price.cache_creation_input_token_cost
  )
}
