import { z } from 'zod'
import { dateTime, plainText } from '../../domain/fields.ts'
import { monotonicNow } from '../../domain/time.ts'
import { isTimezone, maxDays } from './buckets.ts'

const daySeconds = 86_400

/** The range of the buckets, their length, and where days begin. */
export const statsRange = {
  start: dateTime.describe('Included.'),
  end: dateTime.nullish().describe(`Excluded. Default: now. At most ${maxDays} days after start.`),
  granularity: z
    .int()
    .min(1)
    .max(maxDays * daySeconds)
    .nullish()
    .describe(
      'Seconds of a bucket. Default: five minutes to a day, by the range. It becomes longer where there would be more than 10,000 buckets.',
    ),
  timezone: plainText(64)
    .refine(isTimezone, 'expected a time zone such as UTC or Europe/Berlin')
    .nullish()
    .meta({
      default: 'UTC',
      description: 'Buckets begin at its midnight, or multiples of their length after it.',
    }),
}

interface Range {
  start: number
  end?: number | null | undefined
}

/** The same object, refused where its range is empty or too long. */
export function withRange<Schema extends z.ZodType<Range>>(schema: Schema): Schema {
  return schema.check((context) => {
    const { start, end } = context.value
    const micros = (end ?? monotonicNow()) - start
    if (micros > 0 && micros <= maxDays * daySeconds * 1_000_000) return
    const message = `expected a time after start and at most ${maxDays} days after it`
    context.issues.push({ code: 'custom', input: end, path: ['end'], message })
  }) as Schema
}

/** What both ends of a range become in an answer. */
export const answeredRange = {
  start: z.iso.datetime(),
  end: z.iso.datetime(),
  granularity: z.int().min(1).describe('Seconds of a bucket.'),
  timezone: z.string(),
}

/** One figure of each kind that is asked for. */
const aggregations = ['sum', 'avg', 'min', 'max', 'count', 'count_true', 'count_false'] as const
export type Aggregation = (typeof aggregations)[number]

export const percentiles = z
  .array(z.number().min(0).max(100))
  .max(16)
  .nullish()
  .describe('From 0 to 100: 95 adds `p95_…`.')

export const aggregationList = z.array(z.enum(aggregations)).max(aggregations.length).nullish()
