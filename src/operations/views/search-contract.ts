import { z } from 'zod'
import { answer, plainText } from '../../domain/fields.ts'
import { LightCall, selection } from './contract.ts'

const count = z.int().min(0)

const maxFound = 100
export const defaultFound = 20

export const SearchBody = z.strictObject({
  ...selection,
  text: plainText(1_000).describe(
    'Words that must all occur, also as beginnings of longer words; "in quotation marks" for an exact phrase; -word to exclude a word. Case and accents are ignored.',
  ),
  limit: z.int().min(1).max(maxFound).nullish().meta({ default: defaultFound }),
  after: plainText(128).nullish().describe('Continues after a page: `next` of the previous page.'),
})
export type SearchBody = z.output<typeof SearchBody>

export const Found = z.object({
  call: LightCall,
  snippets: z
    .array(
      z.object({
        field: z.enum(['inputs', 'output', 'exception', 'note', 'name']),
        text: z.string(),
        marks: z
          .array(z.tuple([count, count]))
          .describe('Positions of the words found: the first character, and the one after the last.'),
      }),
    )
    .describe('At most three excerpts with the words found.'),
})
export type Found = z.output<typeof Found>

export const SearchAnswer = answer('The calls that contain the words, latest arrival first.', {
  found: z.array(Found),
  next: z.string().nullable(),
  searchable: z
    .object({
      value: count.describe('Number of calls of the project that are searchable so far.'),
      of: count,
    })
    .nullable()
    .describe('Null if all calls are searchable. New calls become searchable after a moment.'),
})
