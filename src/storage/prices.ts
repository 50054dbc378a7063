import { refuse } from '../domain/refusals.ts'
import type { View } from '../domain/view.ts'
import { compileCondition } from './sql/conditions.ts'
import type { FieldReading } from './sql/readings.ts'
import { pageOf } from './sql/rows-in-order.ts'
import { sortingOf } from './sql/sorting.ts'
import { allOf, emptySql, join, listOf, rawSql, sql } from './sql/sql.ts'
import { type RowIn, tableOf } from './sql/table.ts'
import { markPrices } from './sums/marks.ts'
import type { Command, Reader } from './transaction.ts'

/** In display order. */
const prices = tableOf('prices', {
  id: 'text',
  project_id: 'text',
  llm_id: 'text',
  provider_id: 'text',
  prompt_token_cost_unit: 'text',
  completion_token_cost_unit: 'text',
  created_by: 'text',
  prompt_token_cost: 'number',
  completion_token_cost: 'number',
  cache_read_input_token_cost: 'number',
  cache_creation_input_token_cost: 'number',
  effective_date: 'time',
  created_at: 'time',
})

/** What a model costs from a day on. */
export type Price = RowIn<typeof prices>

export const priceFields = prices.names

export const addPrices: Command<readonly Price[], void> = async (tx, added) => {
  await prices.insert(tx, added)
  await markPrices(
    tx,
    added.map(({ project_id }) => project_id),
  )
}

/** There are few prices, so a view of them is read at once. */
export function readPrices(db: Reader, view: View): Promise<Price[]> {
  const conditions = [sql`project_id = ${view.project}`]
  if (view.query) conditions.push(compileCondition(view.query, fieldsAt('query'), db.dialect))
  const order = [...sortingOf(view.sort, fieldsAt, db.dialect).order, rawSql('id')]
  return prices.all(db, sql`${allOf(conditions)} ORDER BY ${join(order, ', ')}${pageOf(db.dialect, view)}`)
}

/** `path` is how a refusal names where the field was given. */
function fieldsAt(path: string) {
  return (field: string): FieldReading => {
    const kind = Object.hasOwn(prices.kinds, field) ? prices.kinds[field as keyof Price] : undefined
    if (kind !== undefined) return { kind, sql: rawSql(field) }
    const accepted = priceFields.join(', ')
    throw refuse('unknown_field', { field: path, received: JSON.stringify(field), accepted })
  }
}

export function pricesOfModels(db: Reader, projectId: string, models: readonly string[]): Promise<Price[]> {
  return prices.all(db, sql`project_id = ${projectId} AND llm_id IN (${listOf(models)})`)
}

export function pricesOfProject(db: Reader, projectId: string, max?: number): Promise<Price[]> {
  const limit = max === undefined ? emptySql : sql` LIMIT ${max}`
  return prices.all(db, sql`project_id = ${projectId}${limit}`)
}

export const removePrices: Command<{ project_id: string; ids: readonly string[] }, void> = async (
  tx,
  { project_id, ids },
) => {
  for (const id of ids) await tx.run(sql`DELETE FROM prices WHERE project_id = ${project_id} AND id = ${id}`)
  await markPrices(tx, [project_id])
}
