import { batchesOf } from '../../domain/batches.ts'
import type { Dialect } from '../sql/dialect.ts'
import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { Reader } from '../transaction.ts'

interface Used {
  model: Sql
  input: Sql
  output: Sql
  cacheRead: Sql
  cacheCreation: Sql
}

/**
 * What a call cost, in SQL, by the rule of operations/calls/costs.ts: the price of each of its models in force when it
 * started, or else the first one after it. Null without a price.
 */
export function costOfCall(dialect: Dialect): Sql {
  const ofOne = priceOf({
    model: rawSql('calls.model'),
    input: known('calls.input_tokens'),
    output: known('calls.output_tokens'),
    cacheRead: known('calls.cache_read_tokens'),
    cacheCreation: known('calls.cache_creation_tokens'),
  })
  const tokens = (...names: string[]) => {
    const counts = names.map((name) => dialect.json(rawSql('used.value'), [name]).number)
    return counts.reduce(
      (sum, count) => sql`${sum} + coalesce(CAST(${count} AS DOUBLE PRECISION), 0)`,
      rawSql('0'),
    )
  }
  const ofMember = priceOf({
    model: rawSql('used.key'),
    input: sql`(${tokens('prompt_tokens', 'input_tokens')})`,
    output: sql`(${tokens('completion_tokens', 'output_tokens')})`,
    cacheRead: sql`(${tokens('cache_read_input_tokens')})`,
    cacheCreation: sql`(${tokens('cache_creation_input_tokens')})`,
  })
  const members = dialect.members(dialect.token(rawSql('calls.summary'), ['usage']))
  // The names of several models are stored as one. Only for these is the summary opened.
  return sql`(CASE WHEN ${dialect.position(rawSql('calls.model'), rawSql("', '"))} > 0
    THEN (SELECT sum(costs.cost) FROM (SELECT ${ofMember} AS cost FROM ${members} AS used) AS costs) ELSE ${ofOne} END)`
}

const known = (column: string) => rawSql(`coalesce(${column}, 0)`)

function priceOf({ model, input, output, cacheRead, cacheCreation }: Used): Sql {
  return sql`(SELECT (${input} - ${cacheRead} - ${cacheCreation}) * prices.prompt_token_cost
      + ${output} * prices.completion_token_cost + ${cacheRead} * prices.cache_read_input_token_cost
      + ${cacheCreation} * prices.cache_creation_input_token_cost
    FROM prices WHERE prices.project_id = calls.project_id AND prices.llm_id = ${model}
    ORDER BY CASE WHEN prices.effective_date <= calls.started_at THEN 0 ELSE 1 END,
      abs(prices.effective_date - calls.started_at), prices.created_at DESC LIMIT 1)`
}

/** What some calls cost, by their ids; those without a price are left out. */
export async function readCosts(
  db: Reader,
  project: string,
  ids: readonly string[],
): Promise<Map<string, number>> {
  const costs = new Map<string, number>()
  for (const some of batchesOf(ids, idsAtOnce)) {
    const rows = await db.all<{ id: string; cost: number | null }>(
      sql`SELECT id, ${costOfCall(db.dialect)} AS cost FROM calls WHERE project_id = ${project} AND id IN (${listOf(some)})`,
    )
    for (const { id, cost } of rows) if (cost !== null) costs.set(id, cost)
  }
  return costs
}

const idsAtOnce = 500
