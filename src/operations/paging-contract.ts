import { z } from 'zod'
import { answer, jsonObject, plainText, projectId } from '../domain/fields.ts'

/** The contract fields of queries that several families share. */

export const query = jsonObject().nullish().describe('An expression: {"$expr": …}; see docs/queries.md.')

export const sortBy = (maxLength = 1024) =>
  z
    .array(z.strictObject({ field: z.string().min(1).max(maxLength), direction: z.enum(['asc', 'desc']) }))
    .max(16)
    .nullish()

export const limit = z.int().min(0).nullish().describe('Null means all.')
export const offset = z.int().min(0).nullish().meta({ default: 0 })

/** Of lists of what has a name. */
export const NamedQuery = z.strictObject({
  project_id: projectId,
  name: plainText(1024).nullish().describe('A part of the name, ignoring case.'),
  sort_by: sortBy().describe('By id, name, created_at or updated_at. Default: newest first.'),
  limit,
  offset,
})
export type NamedQuery = z.output<typeof NamedQuery>

const count = z
  .string()
  .regex(/^\d{1,15}$/, 'expected a whole number')
  .transform(Number)

/** The page of a list, in the query string of the URL. */
export const ListQuery = z.strictObject({
  limit: count.optional(),
  offset: count.optional().meta({ default: '0' }),
})
export type ListQuery = z.output<typeof ListQuery>

/** A page of a list, as OpenAI's clients read it. */
export const listAnswer = <Item extends z.ZodType>(description: string, item: Item) =>
  answer(description, {
    object: z.literal('list'),
    data: z.array(item),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  })
