import { z } from 'zod'
import { answer, plainText } from '../../domain/fields.ts'
import { listAnswer } from '../paging-contract.ts'

const day = 86_400

/** How long a file may be kept, in seconds after it was created. */
const minSeconds = 3_600
const maxSeconds = 30 * day
/** Of files of batches, as at OpenAI. */
export const usualSeconds = 30 * day

/** What files are stored for. Nothing is trained here. */
const purposes = ['batch', 'user_data', 'assistants', 'vision', 'evals'] as const

export const expiresAfter = z.strictObject({
  anchor: z.literal('created_at'),
  seconds: z.int().min(minSeconds).max(maxSeconds),
})

export const FileForm = z.object({
  purpose: z.enum(purposes),
  file: z.string().meta({ format: 'binary', description: 'The content, with a file name.' }),
  'expires_after[anchor]': z.literal('created_at').optional(),
  'expires_after[seconds]': expiresAfter.shape.seconds
    .optional()
    .describe(`Files for batches expire after ${usualSeconds} seconds unless this says otherwise.`),
})

export const FilePath = z.object({ file_id: plainText(512).min(1) })

/** Where a page of a list begins. */
export const pageAfter = (prefix: 'file-' | 'batch_') =>
  z
    .string()
    .regex(new RegExp(`^${prefix}[0-9a-f]{32}$`), `expected the id of an item, ${prefix}…`)
    .optional()
    .describe('The id of the last item of the previous page.')

export const FilesQuery = z.strictObject({
  purpose: plainText(64).min(1).optional(),
  after: pageAfter('file-'),
  limit: z.coerce.number().int().min(1).max(10_000).default(1_000),
  order: z.enum(['asc', 'desc']).default('desc').describe('Sort order by time.'),
})
export type FilesQuery = z.output<typeof FilesQuery>

const file = {
  id: z.string(),
  object: z.literal('file'),
  bytes: z.int(),
  created_at: z.int(),
  expires_at: z.int().optional(),
  filename: z.string(),
  purpose: z.string(),
  status: z.literal('processed'),
}

export const FileAnswer = answer('The file, without its content.', file)

export const FileList = listAnswer('Files of the caller.', z.object(file))

export const FileDeleted = answer('The file is deleted.', {
  id: z.string(),
  object: z.literal('file'),
  deleted: z.literal(true),
})
