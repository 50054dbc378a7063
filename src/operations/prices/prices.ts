import { type Caller, requireAccess } from '../../domain/callers.ts'
import { idsNamed } from '../../domain/expressions/ids-named.ts'
import { parseExpressionText } from '../../domain/expressions/parse.ts'
import { newId } from '../../domain/ids.ts'
import { refuse } from '../../domain/refusals.ts'
import { formatTime, now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { compileCondition, compileOrder, type FieldResolver } from '../../storage/sql/expressions.ts'
import { trusted } from '../../storage/sql/sql.ts'
import { findPrices, type Price } from '../../storage/tables/prices.ts'
import type { CreateBody, PurgeBody, QueryBody } from './contract.ts'

export async function createPrices(db: Database, caller: Caller, { project_id, costs }: CreateBody) {
  requireAccess(caller, project_id)
  const time = now()
  const prices = Object.entries(costs).map(
    ([model, given]): Price => ({
      project_id,
      id: newId(),
      llm_id: model,
      provider_id: given.provider_id ?? 'default',
      effective_date: given.effective_date ?? time,
      prompt_token_cost: given.prompt_token_cost,
      completion_token_cost: given.completion_token_cost,
      cache_read_input_token_cost: given.cache_read_input_token_cost ?? 0,
      cache_creation_input_token_cost: given.cache_creation_input_token_cost ?? 0,
      prompt_token_cost_unit: given.prompt_token_cost_unit ?? 'USD',
      completion_token_cost_unit: given.completion_token_cost_unit ?? 'USD',
      created_at: time,
      created_by: caller.name,
    }),
  )
  await db.write('addPrices', prices)
  return { ids: prices.map((price) => [price.id, price.llm_id]) }
}

export async function queryPrices(db: Database, caller: Caller, body: QueryBody) {
  requireAccess(caller, body.project_id)
  const names = fieldsGiven(body.fields)
  const conditions = body.query
    ? [compileCondition(parseExpressionText(body.query.text), priceFields('query'), db.dialect)]
    : []
  const order = (body.sort_by ?? []).flatMap(({ field, direction }, index) =>
    compileOrder(priceFields(`sort_by.${index}.field`)(field), direction, db.dialect),
  )
  const prices = await findPrices(db, {
    projectId: body.project_id,
    conditions,
    order,
    limit: Math.min(body.limit ?? mostPrices, mostPrices),
    offset: body.offset ?? 0,
  })
  return { results: prices.map((price) => shown(price, names)) }
}

/** Prices are few; this is a bound for a client that asks for all of them. */
const mostPrices = 10_000

export async function purgePrices(
  db: Database,
  caller: Caller,
  { project_id, query }: PurgeBody,
): Promise<void> {
  requireAccess(caller, project_id)
  await db.write('removePrices', { project_id, ids: idsNamed(parseExpressionText(query.text)) })
}

const texts = [
  'id',
  'project_id',
  'llm_id',
  'provider_id',
  'prompt_token_cost_unit',
  'completion_token_cost_unit',
  'created_by',
]
const numbers = [
  'prompt_token_cost',
  'completion_token_cost',
  'cache_read_input_token_cost',
  'cache_creation_input_token_cost',
]
const times = ['effective_date', 'created_at']
/** Constant on the wire, so not stored. */
const constant: Record<string, (price: Price) => string> = {
  pricing_level: () => 'project',
  pricing_level_id: (price) => price.project_id,
}
const accepted = [...texts, ...numbers, ...times].join(', ')

/** `place` is how a refusal names where the field was given. */
function priceFields(place: string): FieldResolver {
  return (field) => {
    if (texts.includes(field)) return { kind: 'text', sql: trusted(field) }
    if (numbers.includes(field)) return { kind: 'number', sql: trusted(field) }
    if (times.includes(field)) return { kind: 'time', sql: trusted(field) }
    throw refuse('unknown_field', { field: place, given: JSON.stringify(field), accepted })
  }
}

function fieldsGiven(fields: QueryBody['fields']): string[] {
  const all = [...texts, ...numbers, ...times, ...Object.keys(constant)]
  for (const [index, field] of (fields ?? []).entries()) {
    if (!all.includes(field))
      throw refuse('unknown_field', {
        field: `fields.${index}`,
        given: JSON.stringify(field),
        accepted: all.join(', '),
      })
  }
  return fields?.length ? fields : all
}

function shown(price: Price, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    names.map((name) => {
      const value = constant[name]?.(price) ?? price[name as keyof Price]
      return [name, times.includes(name) ? formatTime(value as number) : value]
    }),
  )
}
