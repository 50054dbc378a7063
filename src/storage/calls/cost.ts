import { readInBatches } from '../../domain/batches.ts'
import { maxStatedCost, statedPerUnit, tokenCounts } from '../../domain/call-facts/facts.ts'
import { type Price, pricesOfProject } from '../prices.ts'
import type { Dialect } from '../sql/dialect.ts'
import { join, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { Reader } from '../transaction.ts'

interface Used {
  model: Sql
  input: Sql
  output: Sql
  cacheRead: Sql
  cacheCreation: Sql
  side: CostSide | undefined
}

/** Tokens of a cache are of the input. */
type CostSide = 'input' | 'output'

/**
 * What a call cost, in SQL, by the rule of operations/calls/costs.ts: the price of each of its models in force when it
 * started, or else the first one after it; without one what its client says. Null if that is nothing. With the prices of
 * the project it is several times as fast. What clients state has no sides.
 */
export function costOfCall(dialect: Dialect, prices?: readonly Price[], side?: CostSide): Sql {
  const used = {
    side,
    model: rawSql('calls.model'),
    input: known('calls.input_tokens'),
    output: known('calls.output_tokens'),
    cacheRead: known('calls.cache_read_tokens'),
    cacheCreation: known('calls.cache_creation_tokens'),
  }
  const ofOne = prices === undefined ? priceOf(used) : pricedBy(prices, used)
  const numberIn = (name: string) => dialect.json(rawSql('used.value'), [name]).number
  const tokens = (...names: string[]) =>
    names.reduce(
      (sum, name) => sql`${sum} + coalesce(CAST(${numberIn(name)} AS DOUBLE PRECISION), 0)`,
      rawSql('0'),
    )
  const ofMember = priceOf({
    side,
    model: rawSql('used.key'),
    input: sql`(${tokens('prompt_tokens', 'input_tokens')})`,
    output: sql`(${tokens('completion_tokens', 'output_tokens')})`,
    cacheRead: sql`(${tokens('cache_read_input_tokens')})`,
    cacheCreation: sql`(${tokens('cache_creation_input_tokens')})`,
  })
  const isCounted = join(
    tokenCounts.map((name) => sql`${numberIn(name)} >= 0`),
    ' OR ',
  )
  const total = numberIn('total_cost')
  const statedByMember = sql`CASE WHEN ${total} >= 0 AND ${total} <= ${rawSql(String(maxStatedCost))} AND (${isCounted})
    THEN round(CAST(${total} AS DOUBLE PRECISION) * ${rawSql(String(statedPerUnit))}) / ${rawSql(String(statedPerUnit))} END`
  const members = dialect.members(dialect.token(rawSql('calls.summary'), ['usage']))
  const [member, whole] =
    side === undefined
      ? [sql`coalesce(${ofMember}, ${statedByMember})`, sql`coalesce(${ofOne}, ${statedOfCall})`]
      : [ofMember, ofOne]
  // The names of several models are stored as one. Only for these is the summary opened.
  return sql`(CASE WHEN ${dialect.position(rawSql('calls.model'), rawSql("', '"))} > 0
    THEN (SELECT sum(costs.cost) FROM (SELECT ${member} AS cost FROM ${members} AS used) AS costs) ELSE ${whole} END)`
}

/** Of a call of one model. */
const statedOfCall = rawSql(`CAST(calls.stated_cost AS DOUBLE PRECISION) / ${statedPerUnit}`)

const known = (column: string) => rawSql(`coalesce(${column}, 0)`)

type TokenCost = Extract<keyof Price, `${string}_token_cost`>

function sumOf(
  { input, output, cacheRead, cacheCreation, side }: Used,
  price: (name: TokenCost) => Sql,
): Sql {
  const ofOutput = sql`${output} * ${price('completion_token_cost')}`
  if (side === 'output') return ofOutput
  return sql`(${input} - ${cacheRead} - ${cacheCreation}) * ${price('prompt_token_cost')}
      + ${side === undefined ? ofOutput : rawSql('0')} + ${cacheRead} * ${price('cache_read_input_token_cost')}
      + ${cacheCreation} * ${price('cache_creation_input_token_cost')}`
}

/**
 * With more prices in a statement than these, looking them up is as fast as comparing a call with each. Each mention of a
 * cost has all of them, and SQLite prepares a statement in the square of its constants.
 */
export const maxCompared = 32

/** For `costOfCall`. Undefined if they are too many. */
export async function comparedPrices(
  db: Reader,
  project: string,
  mentions = 1,
): Promise<Price[] | undefined> {
  const max = Math.floor(maxCompared / mentions)
  const prices = await pricesOfProject(db, project, max + 1)
  return prices.length > max ? undefined : prices
}

function pricedBy(prices: readonly Price[], used: Used): Sql {
  if (prices.length === 0) return rawSql('NULL')
  const costAt = (price: Price) => sumOf(used, (name) => sql`CAST(${price[name]} AS DOUBLE PRECISION)`)
  const models = [...Map.groupBy(prices, ({ llm_id }) => llm_id)].map(([model, ofModel]) => {
    const inOrder = ofModel.toSorted(
      (price, other) => price.effective_date - other.effective_date || other.created_at - price.created_at,
    )
    const inForce = inOrder.filter(
      ({ effective_date }, n) => effective_date !== inOrder[n - 1]?.effective_date,
    )
    const until = inForce.slice(1).map(({ effective_date }, n) => {
      return sql`WHEN calls.started_at < ${effective_date} THEN ${costAt(inForce[n] as Price)} `
    })
    const last = costAt(inForce.at(-1) as Price)
    return sql`WHEN ${model} THEN ${until.length === 0 ? last : sql`CASE ${join(until, '')}ELSE ${last} END`}`
  })
  return sql`CASE ${used.model} ${join(models, ' ')} END`
}

function priceOf(used: Used): Sql {
  return sql`(SELECT ${sumOf(used, (name) => rawSql(`prices.${name}`))}
    FROM prices WHERE prices.project_id = calls.project_id AND prices.llm_id = ${used.model}
    ORDER BY CASE WHEN prices.effective_date <= calls.started_at THEN 0 ELSE 1 END,
      abs(prices.effective_date - calls.started_at), prices.created_at DESC LIMIT 1)`
}

/** What some calls cost, by their ids; those without a price are left out. */
export async function readCosts(
  db: Reader,
  project: string,
  ids: readonly string[],
): Promise<Map<string, number>> {
  const rows = await readInBatches(ids, idsAtOnce, (some) =>
    db.all<{ id: string; cost: number | null }>(
      sql`SELECT id, ${costOfCall(db.dialect)} AS cost FROM calls WHERE project_id = ${project} AND id IN (${listOf(some)})`,
    ),
  )
  return new Map(rows.flatMap(({ id, cost }) => (cost === null ? [] : [[id, cost]])))
}

const idsAtOnce = 500
