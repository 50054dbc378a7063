import { z } from 'zod'
import { answer, projectId } from '../../domain/fields.ts'
import { query } from '../paging-contract.ts'
import { answeredRange, percentiles, statsRange, withRange } from '../totals/range-contract.ts'
import { unsupported } from './contract.ts'
import { aggregationName, columnName, groupRef, SignalFilters, valueRef } from './value-contract.ts'

export const defaultGroups = 50

const valueTypes = ['number', 'boolean', 'string'] as const
export const defaultBins = 24

const Metric = z.strictObject({
  alias: columnName.describe(
    'Names the columns: avg_<alias>. Without value it is also the field that is read.',
  ),
  value_type: z.enum(valueTypes).nullish().meta({ default: 'number' }),
  aggregations: z
    .array(aggregationName)
    .max(8)
    .nullish()
    .describe('Default: sum of numbers; count_true and count_false of booleans; count of strings.'),
  percentiles,
  value: valueRef.nullish(),
})

export const SpanStatsBody = withRange(
  z.strictObject({
    project_id: projectId,
    ...statsRange,
    query,
    group_by: z.array(groupRef).max(3).nullish(),
    metrics: z.array(Metric).max(20).nullish(),
    group_limit: z.int().min(1).max(1_000).nullish().meta({
      default: defaultGroups,
      description: 'Only the groups with the most spans.',
    }),
    bucket_by: z
      .strictObject({
        type: z.enum(['time', 'number']),
        value: valueRef.nullish().describe('Of number: what is put into buckets.'),
        bins: z.int().min(1).max(200).nullish().meta({ default: defaultBins }),
        min: z.number().nullish().describe('Default: the smallest value.'),
        max: z.number().nullish().describe('Default: the largest value.'),
        alias: columnName
          .nullish()
          .describe('Has no effect: columns are bucket_index, bucket_min, bucket_max.'),
        group_by: unsupported('buckets of figures of groups are not computed'),
        measure: z
          .null({ error: 'is not supported: buckets of figures of groups are not computed' })
          .optional(),
      })
      .refine(({ type, value }) => (type === 'number') === (value != null), {
        path: ['value'],
        error: 'expected a value with number, and none with time',
      })
      .refine(({ min, max }) => min == null || max == null || max >= min, {
        path: ['max'],
        error: 'expected at least min',
      })
      .nullish(),
    group_filters: unsupported('spans are filtered by the query'),
    signal_filters: SignalFilters.describe(
      'Only conversations with these signals, in feedback since start: at most 200,000.',
    ),
  }),
)
export type SpanStatsBody = z.output<typeof SpanStatsBody>

const text = z.string().nullable()

export const SpanStatsAnswer = answer('Figures by time and group. Empty buckets are left out.', {
  ...answeredRange,
  bucket_type: z.enum(['time', 'number']),
  columns: z.array(
    z.object({
      name: z.string(),
      role: z.enum(['time', 'bucket', 'group', 'metric']),
      value_type: z.enum(['datetime', 'string', 'number']),
      metric: text.describe('The alias of the metric.'),
      aggregation: text.describe('sum, or p95, for example.'),
    }),
  ),
  rows: z
    .array(z.record(z.string(), z.union([z.string(), z.number(), z.null()])))
    .describe('By the names of the columns.'),
})
