import { z } from 'zod'
import { answer, dateTime, jsonObject, plainText, projectId, shortRecord } from '../../domain/fields.ts'
import { limit, offset, query, sortBy } from '../paging-contract.ts'

const unitPrice = z.number().min(0).describe('Price of one token.')
const name = plainText(256).min(1)

const PriceGiven = z.object({
  prompt_token_cost: unitPrice,
  completion_token_cost: unitPrice,
  cache_read_input_token_cost: unitPrice.nullish(),
  cache_creation_input_token_cost: unitPrice.nullish(),
  prompt_token_cost_unit: name.nullish().meta({ default: 'USD' }),
  completion_token_cost_unit: name.nullish().meta({ default: 'USD' }),
  effective_date: dateTime.nullish().describe('When the price takes effect. Default: now.'),
  provider_id: name.nullish().meta({ default: 'default' }),
})

export const CreateBody = z.object({
  project_id: projectId,
  costs: shortRecord(name, PriceGiven, { most: 1000, things: 'models', name: 'name of a model' }),
})
export type CreateBody = z.output<typeof CreateBody>
export const CreateAnswer = answer('The ids of the prices.', {
  ids: z.array(z.tuple([z.string(), z.string()])).describe('The id of the price, then the model.'),
})

export const QueryBody = z.strictObject({
  project_id: projectId,
  fields: z.array(z.string().max(256)).max(100).nullish(),
  query,
  sort_by: sortBy(256),
  limit: limit.describe('At most 10,000 prices are returned at once, also without a limit.'),
  offset,
})
export type QueryBody = z.output<typeof QueryBody>

export const QueryAnswer = answer('The prices found, with the requested fields.', {
  results: z.array(z.record(z.string(), z.unknown())),
})

export const PurgeBody = z.object({
  project_id: projectId,
  query: jsonObject().describe('An $eq of id and a string, an $in of id and strings, or an $or of such $eq.'),
})
export type PurgeBody = z.output<typeof PurgeBody>
export const PurgeAnswer = answer('An empty object, once the prices are deleted.', {})
