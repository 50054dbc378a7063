import { z } from 'zod'
import { answer } from '../../domain/fields.ts'
import { bucketSpan, selection } from './contract.ts'

const count = z.int().min(0)

export const FeedbackBucketsBody = z.strictObject({
  ...selection,
  ...bucketSpan,
})
export type FeedbackBucketsBody = z.output<typeof FeedbackBucketsBody>

export const FeedbackBucketsAnswer = answer(
  'What was said, by when it was said. Empty buckets are left out.',
  {
    kinds: z
      .array(
        z.object({
          feedback_type: z.string(),
          value: z.string().nullable().meta({
            description: 'The emoji of a reaction, or the JSON of an annotation where it is short.',
          }),
        }),
      )
      .meta({ description: 'The 20 most frequent, the largest first.' }),
    buckets: z.array(
      z.object({
        started_at: z.iso.datetime(),
        kind: count.nullable().meta({ description: 'The place in `kinds`; null: all others.' }),
        count,
      }),
    ),
  },
)
