import { z } from 'zod'
import { answer, plainText, projectId } from '../../domain/fields.ts'
import { aggregationList, answeredRange, percentiles, statsRange, withRange } from './range-contract.ts'

const valueType = z.enum(['numeric', 'boolean', 'categorical'])

const selected = {
  feedback_type: plainText(512).nullish(),
  trigger_ref: plainText(4096)
    .nullish()
    .describe('A reference; without a version, or with :* at its end, it is that of any version.'),
}

export const FeedbackStatsBody = withRange(
  z.strictObject({
    project_id: projectId,
    ...statsRange,
    ...selected,
    metrics: z
      .array(
        z.strictObject({
          json_path: plainText(1024).min(1).describe('Inside payloads, such as output.score.'),
          value_type: valueType.nullish().meta({ default: 'numeric' }),
          aggregations: aggregationList.describe(
            'Default: avg, min and max; count_true and count_false of booleans; count of categories.',
          ),
          percentiles,
        }),
      )
      .max(10)
      .nullish(),
  }),
)
export type FeedbackStatsBody = z.output<typeof FeedbackStatsBody>

const figure = z.number().nullable()

export const FeedbackStatsAnswer = answer('Figures named <aggregation>_<path>. Empty buckets are left out.', {
  ...answeredRange,
  buckets: z.array(
    z
      .object({
        timestamp: z.iso.datetime().describe('When the bucket begins.'),
        count: z.int().min(0).describe('Number of feedback records.'),
      })
      .catchall(z.union([figure, z.string()])),
  ),
  window_stats: z
    .record(z.string(), z.record(z.string(), figure))
    .describe('The same over the whole range: by path with _ for other characters, then by figure.'),
})

const maxSample = 5_000
export const defaultSample = 2_000

export const PayloadSchemaBody = withRange(
  z.strictObject({
    project_id: projectId,
    start: statsRange.start,
    end: statsRange.end,
    ...selected,
    sample_limit: z.int().min(1).max(maxSample).nullish().meta({
      default: defaultSample,
      description: 'The newest payload of so many types and triggers is read.',
    }),
  }),
)
export type PayloadSchemaBody = z.output<typeof PayloadSchemaBody>

export const PayloadSchemaAnswer = answer('What can be a metric of /feedback/stats.', {
  paths: z.array(z.object({ json_path: z.string(), value_type: valueType })).describe('At most 1,000.'),
})
