import { byCaller, type Caller, requireAccess } from '../../domain/callers.ts'
import { idsNamed } from '../../domain/expressions/named-texts.ts'
import { parseExpressionText } from '../../domain/expressions/parse.ts'
import { newId } from '../../domain/ids.ts'
import { refuse } from '../../domain/refusals.ts'
import { formatTime, now } from '../../domain/time.ts'
import { viewOf } from '../../domain/view.ts'
import type { Database } from '../../storage/database.ts'
import { type Price, priceFields, readPrices } from '../../storage/prices.ts'
import { family, operationsUnder } from '../parts.ts'
import { CreateAnswer, CreateBody, PurgeAnswer, PurgeBody, QueryAnswer, QueryBody } from './contract.ts'

const operation = operationsUnder('costs')

export const priceRoutes = family(
  operation('POST', '/cost/create', {
    right: 'write',
    summary: 'Create prices of models',
    body: CreateBody,
    answer: CreateAnswer,
    refusals: ['invalid_value'],
    rule: ({ db }, { caller, body }) => createPrices(db, caller, body),
  }),
  operation('POST', '/cost/query', {
    right: 'read',
    summary: 'Find prices',
    body: QueryBody,
    answer: QueryAnswer,
    refusals: ['invalid_value'],
    rule: ({ db }, { caller, body }) => queryPrices(db, caller, body),
  }),
  operation('POST', '/cost/purge', {
    right: 'write',
    summary: 'Delete prices by id',
    body: PurgeBody,
    answer: PurgeAnswer,
    refusals: ['invalid_value'],
    rule: ({ db }, { caller, body }) => purgePrices(db, caller, body),
  }),
)

async function createPrices(db: Database, caller: Caller, { project_id, costs }: CreateBody) {
  requireAccess(caller, project_id)
  const time = now()
  const prices = Object.entries(costs).map(
    ([model, cost]): Price => ({
      project_id,
      id: newId(),
      llm_id: model,
      provider_id: cost.provider_id ?? 'default',
      effective_date: cost.effective_date ?? time,
      prompt_token_cost: cost.prompt_token_cost,
      completion_token_cost: cost.completion_token_cost,
      cache_read_input_token_cost: cost.cache_read_input_token_cost ?? 0,
      cache_creation_input_token_cost: cost.cache_creation_input_token_cost ?? 0,
      prompt_token_cost_unit: cost.prompt_token_cost_unit ?? 'USD',
      completion_token_cost_unit: cost.completion_token_cost_unit ?? 'USD',
      created_at: time,
      created_by: caller.name,
    }),
  )
  await db.write('addPrices', prices)
  return { ids: prices.map((price) => [price.id, price.llm_id]) }
}

async function queryPrices(db: Database, caller: Caller, body: QueryBody) {
  requireAccess(caller, body.project_id)
  const names = fieldsGiven(body.fields)
  const limit = Math.min(body.limit ?? maxPrices, maxPrices)
  const prices = await readPrices(db, { ...viewOf(body), limit })
  return { results: prices.map((price) => shown(price, names)) }
}

/** There are few prices; this bounds the answer when a client asks for all of them. */
const maxPrices = 10_000

async function purgePrices(db: Database, caller: Caller, { project_id, query }: PurgeBody): Promise<void> {
  requireAccess(caller, project_id)
  const ids = idsNamed(parseExpressionText(query.text))
  await db.write('removePrices', { project_id, ids, by: byCaller(caller) })
}

const times = ['effective_date', 'created_at']
/** Constant in the API, so not stored. */
const constant: Record<string, (price: Price) => string> = {
  pricing_level: () => 'project',
  pricing_level_id: (price) => price.project_id,
}

function fieldsGiven(fields: QueryBody['fields']): string[] {
  const all = [...priceFields, ...Object.keys(constant)]
  for (const [index, field] of (fields ?? []).entries()) {
    if (!all.includes(field))
      throw refuse('unknown_field', {
        field: `fields.${index}`,
        received: JSON.stringify(field),
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
