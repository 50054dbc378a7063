import { z } from 'zod'
import { answer } from '../../domain/fields.ts'
import { bucketSpan, selection } from './contract.ts'

const count = z.int().min(0)

export const FeedbackBucketsBody = z.strictObject({
  ...selection,
  ...bucketSpan,
})
export type FeedbackBucketsBody = z.output<typeof FeedbackBucketsBody>

export const FeedbackBucketsAnswer = answer('Feedback by creation time. Empty buckets are left out.', {
  kinds: z
    .array(
      z.object({
        feedback_type: z.string(),
        value: z
          .string()
          .nullable()
          .describe('The emoji of a reaction, or the JSON of an annotation if it is short.'),
      }),
    )
    .describe('The 20 most frequent, in descending order.'),
  buckets: z.array(
    z.object({
      started_at: z.iso.datetime(),
      kind: count.nullable().describe('The index in `kinds`; null for all others.'),
      count,
    }),
  ),
})
