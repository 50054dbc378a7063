import { type Page, pageOf } from '../sql/page.ts'
import { allOf, join, listOf, type Sql, sql, trusted } from '../sql/sql.ts'
import type { Command, Reader } from '../transaction.ts'

/** What a model costs from a day on. Times are microseconds. */
export interface Price {
  project_id: string
  id: string
  llm_id: string
  provider_id: string
  effective_date: number
  prompt_token_cost: number
  completion_token_cost: number
  cache_read_input_token_cost: number
  cache_creation_input_token_cost: number
  prompt_token_cost_unit: string
  completion_token_cost_unit: string
  created_at: number
  created_by: string
}

const columns = trusted(
  'project_id, id, llm_id, provider_id, effective_date, prompt_token_cost, completion_token_cost, cache_read_input_token_cost, cache_creation_input_token_cost, prompt_token_cost_unit, completion_token_cost_unit, created_at, created_by',
)

export const addPrices: Command<readonly Price[], void> = async (tx, prices) => {
  for (const price of prices) {
    await tx.run(
      sql`INSERT INTO prices (${columns}) VALUES (${price.project_id}, ${price.id}, ${price.llm_id}, ${price.provider_id},
          ${price.effective_date}, ${price.prompt_token_cost}, ${price.completion_token_cost},
          ${price.cache_read_input_token_cost}, ${price.cache_creation_input_token_cost}, ${price.prompt_token_cost_unit},
          ${price.completion_token_cost_unit}, ${price.created_at}, ${price.created_by})`,
    )
  }
}

export interface PricesQuery extends Page {
  projectId: string
  conditions: readonly Sql[]
  order: readonly Sql[]
}

export function findPrices(db: Reader, query: PricesQuery): Promise<Price[]> {
  return db.all<Price>(
    sql`SELECT ${columns} FROM prices WHERE ${allOf([sql`project_id = ${query.projectId}`, ...query.conditions])}
        ORDER BY ${join([...query.order, trusted('id')], ', ')}${pageOf(db.dialect, query)}`,
  )
}

export function pricesOfModels(db: Reader, projectId: string, models: readonly string[]): Promise<Price[]> {
  return db.all<Price>(
    sql`SELECT ${columns} FROM prices WHERE project_id = ${projectId} AND llm_id IN (${listOf(models)})`,
  )
}

export const removePrices: Command<{ project_id: string; ids: readonly string[] }, void> = async (
  tx,
  { project_id, ids },
) => {
  for (const id of ids) await tx.run(sql`DELETE FROM prices WHERE project_id = ${project_id} AND id = ${id}`)
}
