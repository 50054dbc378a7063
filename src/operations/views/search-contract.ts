import { z } from 'zod'
import { answer, plainText } from '../../domain/fields.ts'
import { LightCall, selection } from './contract.ts'

const count = z.int().min(0)

const mostFound = 100
export const usualFound = 20

export const SearchBody = z.strictObject({
  ...selection,
  text: plainText(1_000).meta({
    description:
      'Words that are all there, or longer ones that begin with them; "in quotation marks" as it stands; -without. Case and accents do not count.',
  }),
  limit: z.int().min(1).max(mostFound).nullish().meta({ default: usualFound }),
  after: plainText(32).nullish().meta({ description: 'Goes on behind a page: `next` of the answer before.' }),
})
export type SearchBody = z.output<typeof SearchBody>

export const Found = z.object({
  call: LightCall,
  snippets: z
    .array(
      z.object({
        field: z.enum(['inputs', 'output', 'exception', 'note', 'name']),
        text: z.string(),
        marks: z.array(z.tuple([count, count])).meta({
          description: 'Where words are: first character of the text, and the one behind the last.',
        }),
      }),
    )
    .meta({ description: 'At most three parts of what was found.' }),
})
export type Found = z.output<typeof Found>

export const SearchAnswer = answer('The calls in which the words are, those that came last first.', {
  found: z.array(Found),
  next: z.string().nullable(),
  searchable: z
    .object({
      value: count.meta({ description: 'Calls of the project that can be found so far.' }),
      of: count,
    })
    .nullable()
    .meta({ description: 'Null: all of them. What was just written is read a moment later.' }),
})
