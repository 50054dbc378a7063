import { z } from 'zod'
import { answer, dateTime, jsonObject, plainText, projectId, shortRecord } from '../../domain/fields.ts'
import { limit, offset, query, sortBy } from '../paging.ts'

const unitPrice = z.number().min(0).meta({ description: 'For one token.' })
const name = plainText(256).min(1)

const PriceGiven = z.object({
  prompt_token_cost: unitPrice,
  completion_token_cost: unitPrice,
  cache_read_input_token_cost: unitPrice.nullish(),
  cache_creation_input_token_cost: unitPrice.nullish(),
  prompt_token_cost_unit: name.nullish().meta({ default: 'USD' }),
  completion_token_cost_unit: name.nullish().meta({ default: 'USD' }),
  effective_date: dateTime.nullish().meta({ description: 'From when on it holds; now when absent.' }),
  provider_id: name.nullish().meta({ default: 'default' }),
})

export const CreateBody = z.object({
  project_id: projectId,
  costs: shortRecord(name, PriceGiven, { most: 1000, things: 'models', name: 'name of a model' }),
})
export type CreateBody = z.output<typeof CreateBody>
export const CreateAnswer = answer('The ids of the prices.', {
  ids: z
    .array(z.tuple([z.string(), z.string()]))
    .meta({ description: 'The id of the price, then the model.' }),
})

export const QueryBody = z.strictObject({
  project_id: projectId,
  fields: z.array(z.string().max(256)).max(100).nullish(),
  query,
  sort_by: sortBy(256),
  limit: limit.meta({ description: 'At most 10,000 come at once, also without it.' }),
  offset,
})
export type QueryBody = z.output<typeof QueryBody>

export const QueryAnswer = answer('The prices that were found, with the fields that were asked for.', {
  results: z.array(z.record(z.string(), z.unknown())),
})

export const PurgeBody = z.object({
  project_id: projectId,
  query: jsonObject().meta({
    description: 'One $eq of id with a text, $in of id with texts, or an $or of such $eq.',
  }),
})
export type PurgeBody = z.output<typeof PurgeBody>
export const PurgeAnswer = answer('An empty object: the prices are gone.', {})
