import { z } from 'zod'
import { answer, jsonObject, plainText } from '../../domain/fields.ts'
import { listAnswer } from '../paging-contract.ts'
import { expiresAfter, pageAfter } from '../wire-files/contract.ts'

const endpoints = ['/v1/chat/completions', '/v1/completions', '/v1/embeddings', '/v1/responses'] as const

export const CreateBatchBody = z.object({
  input_file_id: plainText(512).min(1).describe('A file with the purpose `batch`: one request per line.'),
  endpoint: z.enum(endpoints).describe('Where every line is asked.'),
  completion_window: z.literal('24h'),
  metadata: jsonObject()
    .nullish()
    .describe('Up to 16 entries: names of up to 64 characters, with strings of up to 512.'),
  output_expires_after: expiresAfter
    .nullish()
    .describe('How long the files with its answers are kept. Default: 30 days.'),
})
export type CreateBatchBody = z.output<typeof CreateBatchBody>

export const BatchPath = z.object({ batch_id: plainText(512).min(1) })

export const BatchesQuery = z.strictObject({
  after: pageAfter('batch_'),
  limit: z.coerce.number().int().min(1).max(100).default(20),
})
export type BatchesQuery = z.output<typeof BatchesQuery>

const time = z.int().nullable()

const batch = {
  id: z.string(),
  object: z.literal('batch'),
  endpoint: z.string(),
  input_file_id: z.string(),
  completion_window: z.literal('24h'),
  status: z.enum([
    'validating',
    'failed',
    'in_progress',
    'finalizing',
    'completed',
    'expired',
    'cancelling',
    'cancelled',
  ]),
  errors: z
    .object({
      object: z.literal('list'),
      data: z.array(
        z.object({
          code: z.string(),
          line: z.int().nullable(),
          message: z.string(),
          param: z.string().nullable(),
        }),
      ),
    })
    .nullable()
    .describe('Why its input was refused: the first 100 lines that are wrong.'),
  model: z.string().nullable().describe('The model of the first answer.'),
  output_file_id: z.string().nullable(),
  error_file_id: z.string().nullable(),
  created_at: z.int(),
  in_progress_at: time,
  expires_at: z.int(),
  finalizing_at: time,
  completed_at: time,
  failed_at: time,
  expired_at: time,
  cancelling_at: time,
  cancelled_at: time,
  request_counts: z.object({ total: z.int(), completed: z.int(), failed: z.int() }),
  usage: z.object({
    input_tokens: z.int(),
    input_tokens_details: z.object({ cached_tokens: z.int() }),
    output_tokens: z.int(),
    output_tokens_details: z.object({ reasoning_tokens: z.int() }),
    total_tokens: z.int(),
  }),
  metadata: z.record(z.string(), z.string()).nullable(),
}

export const BatchAnswer = answer('The batch as it is now.', batch)

export const BatchList = listAnswer('Batches of the caller, the latest first.', z.object(batch))
