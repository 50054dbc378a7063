import { z } from 'zod'
import { answer, jsonObject, plainText } from '../../domain/fields.ts'
import { listAnswer } from '../paging-contract.ts'
import { ChatAnswer } from './answer-contract.ts'

export const CompletionPath = z.object({ completion_id: plainText(512).min(1) })

const page = {
  after: plainText(512).min(1).optional().describe('The id of the last item of the previous page.'),
  limit: z.coerce.number().int().min(1).max(100).default(20),
  order: z.enum(['asc', 'desc']).default('asc').describe('Sort order by time.'),
}

const maxValueLength = 1_024

export const ListQuery = z
  .object({ ...page, model: plainText(maxValueLength).optional() })
  .catchall(plainText(maxValueLength))
  .describe('`metadata[name]=value` returns only completions with this entry.')
export type ListQuery = z.output<typeof ListQuery>

export const MessagesQuery = z.object(page)
export type MessagesQuery = z.output<typeof MessagesQuery>

const metadata = z.record(z.string(), z.string())

export const StoredCompletion = ChatAnswer.extend({ metadata }).describe(
  'The answer as it was sent, with its metadata.',
)

export const UpdateBody = z.object({
  metadata: jsonObject()
    .nullable()
    .describe('Up to 16 entries: names of up to 64 characters, with strings of up to 512.'),
})
export type UpdateBody = z.output<typeof UpdateBody>

export const CompletionList = listAnswer('Recorded chat completions of the project.', StoredCompletion)

export const MessageList = listAnswer(
  'The messages that a completion answers.',
  z.looseObject({
    id: z.string(),
    role: z.string(),
    content: z.string().nullable(),
    content_parts: z.array(z.looseObject({ type: z.string() })).nullable(),
  }),
)

export const Deleted = answer('The completion and its call are deleted.', {
  object: z.literal('chat.completion.deleted'),
  id: z.string(),
  deleted: z.literal(true),
})
