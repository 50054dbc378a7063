import { z } from 'zod'
import { membersOf } from '../../../packages/json/index.ts'
import { answer, jsonObject, longList, plainText } from '../../domain/fields.ts'

const customId = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,64}$/, 'expected 1 to 64 of the characters a-z, A-Z, 0-9, _ and -')
  .describe('Names the request in the results; unique in the batch.')

/** Of the fields of a message only this one is checked at once: the others are when it is asked. */
const params = jsonObject()
  .check(({ value, issues }) => {
    const stream = membersOf(value.text).get('stream') ?? 'null'
    if (stream === 'null' || stream === 'false') return
    const message = `expected false, because answers of a batch are whole, received ${stream.slice(0, 80)}`
    issues.push({ code: 'custom', input: stream, path: ['stream'], message })
  })
  .describe('The body of `POST /v1/messages`, of up to 1 MiB.')

export const CreateMessageBatchBody = z.object({
  requests: longList(z.object({ custom_id: customId, params }))
    .min(1)
    .describe('At least 1, and at most HEDDLE_BATCH_LINES.'),
})
export type CreateMessageBatchBody = z.output<typeof CreateMessageBatchBody>

export const MessageBatchPath = z.object({ message_batch_id: plainText(512).min(1) })

const pageEnd = z
  .string()
  .regex(/^msgbatch_[0-9a-f]{32}$/, 'expected the id of a batch, msgbatch_…')
  .optional()

export const MessageBatchesQuery = z.object({
  after_id: pageEnd.describe('The page behind this batch: earlier ones.'),
  before_id: pageEnd.describe('The page in front of this batch: later ones.'),
  limit: z.coerce.number().int().min(1).max(1_000).default(20),
})
export type MessageBatchesQuery = z.output<typeof MessageBatchesQuery>

const time = z.iso.datetime().nullable()
const counts = ['processing', 'succeeded', 'errored', 'canceled', 'expired'] as const

const messageBatch = {
  id: z.string(),
  type: z.literal('message_batch'),
  processing_status: z.enum(['in_progress', 'canceling', 'ended']),
  request_counts: z
    .record(z.enum(counts), z.int())
    .describe('Until the batch has ended, all are `processing`.'),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
  ended_at: time,
  cancel_initiated_at: time,
  archived_at: time.describe('When its results were removed.'),
  results_url: z.string().nullable(),
}

export const MessageBatchAnswer = answer('The batch as it is now.', messageBatch)

export const MessageBatchList = answer('Batches of the caller, the latest first.', {
  data: z.array(z.object(messageBatch)),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
  has_more: z.boolean(),
})

export const MessageBatchDeleted = answer('The batch is deleted.', {
  id: z.string(),
  type: z.literal('message_batch_deleted'),
})

const ignored_fields = z.array(z.string()).optional().describe('Fields of its `params` that had no effect.')
const object = z.record(z.string(), z.unknown())

export const MessageBatchResult = z.object({
  custom_id: z.string(),
  result: z.discriminatedUnion('type', [
    z.object({ type: z.literal('succeeded'), message: object, ignored_fields }),
    z.object({ type: z.literal('errored'), error: object, ignored_fields }),
    z.object({ type: z.literal('canceled') }),
    z.object({ type: z.literal('expired') }),
  ]),
})
