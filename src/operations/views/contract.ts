import { z } from 'zod'
import { answer, dateTime, flag, plainText, projectId } from '../../domain/fields.ts'
import { CallsFilter } from '../calls/contract.ts'
import { offset, query, sortBy } from '../paging-contract.ts'

const time = z.iso.datetime()
const count = z.int().min(0)

/** The calls of a view. */
export const selection = {
  project_id: projectId,
  filter: CallsFilter.nullish(),
  query,
}

const maxCalls = 1_000
export const defaultCalls = 100
export const defaultCount = 10_000

/** A value inside the JSON of calls; those of `summary.weave` follow from the call, and are in no JSON. */
const valuePath = plainText(1024).regex(
  /^(?!summary\.weave\.)(?:inputs|output|attributes|summary)\..+$/s,
  'expected a path such as inputs.question',
)

const maxValues = 8

export const CallsBody = z.strictObject({
  ...selection,
  columns: z
    .array(valuePath)
    .max(maxValues)
    .nullish()
    .describe('Additional values of the calls to return, such as inputs.question.'),
  sort_by: sortBy().describe('Default: newest first.'),
  limit: z.int().min(0).max(maxCalls).nullish().meta({ default: defaultCalls }),
  offset,
  after: plainText(128)
    .nullish()
    .describe('Continues after a page in the order of time: `next` of the previous page.'),
  count_up_to: z.int().min(0).max(1_000_000).nullish().meta({
    default: defaultCount,
    description: 'Counts the calls of the view up to this number; 0 turns counting off.',
  }),
  examine: z
    .int()
    .min(1)
    .max(10_000_000)
    .nullish()
    .describe(
      'Where conditions or the order read values that no index has, looks at only so many of the newest calls. Default: all.',
    ),
})
export type CallsBody = z.output<typeof CallsBody>

const isDeriving = z
  .boolean()
  .describe(
    'Whether calls written by an older version are still being processed; counts may not include them yet.',
  )

const preview = (of: string) =>
  z.string().nullable().describe(`The first 160 characters of ${of}, on one line.`)

export const LightCall = z.object({
  id: z.string(),
  trace_id: z.string(),
  parent_id: z.string().nullable(),
  thread_id: z.string().nullable(),
  op_name: z.string(),
  display_name: z.string().nullable(),
  started_at: time,
  ended_at: time.nullable(),
  status: z.enum(['success', 'error', 'descendant_error', 'running']),
  exception: z.string().nullable().describe('The first 200 characters of the exception.'),
  model: z
    .string()
    .nullable()
    .describe('The models in its usage, separated by commas; otherwise the requested model.'),
  latency_ms: z.number().nullable(),
  first_token_ms: z.number().nullable(),
  input_tokens: count.nullable(),
  output_tokens: count.nullable(),
  cost: z
    .number()
    .nullable()
    .describe('By the prices of the project, else as the client states it; null without either.'),
  svc_user_id: z.string().nullable(),
  storage_size_bytes: count,
  input_preview: preview('the last user message'),
  output_preview: preview('the answer'),
  feedback: z.array(z.object({ feedback_type: z.string(), emoji: z.string().nullable(), count })),
  values: z
    .array(z.string().nullable())
    .optional()
    .describe('The first 200 characters of the JSON of each of `columns`; null if there is no value.'),
})
export type LightCall = z.output<typeof LightCall>

export const CallsAnswer = answer('Calls without their inputs, outputs and attributes.', {
  calls: z.array(LightCall),
  next: z
    .string()
    .nullable()
    .describe('Null on the last page, and always in other orders than that of time.'),
  count: z
    .object({
      value: count,
      is_exact: z.boolean().describe('If false, there are at least this many.'),
    })
    .nullable(),
  examined: z
    .object({ calls: count, since: time })
    .nullable()
    .describe('How many of the newest calls were looked at, and since when they began. Null if all were.'),
  is_deriving: isDeriving,
})

export const groupField = z.enum(['op', 'model', 'status', 'user', 'origin'])

/** Feedback on calls; one call may have several. */
const saidField = z.enum(['feedback', 'reaction'])

export const sampledCalls = 2_000
export const examinedCalls = { indexed: 50_000, rows: 10_000 }

export const FacetsBody = z.strictObject({
  ...selection,
  fields: z
    .array(z.union([groupField, saidField, valuePath]))
    .min(1)
    .max(16)
    .nullish()
    .describe(
      'Default: op, model, status and user. feedback counts calls by the types of their feedback, reaction by the last emoji. Values of calls, such as inputs.question, are counted only in the newest calls.',
    ),
})
export type FacetsBody = z.output<typeof FacetsBody>

const groupValue = z
  .string()
  .nullable()
  .describe(
    'Null for calls without a value. An op stands for all its versions, in the form that `filter.op_names` accepts. A value of calls is returned as JSON.',
  )

export const FacetsAnswer = answer('The most frequent values of each field in the calls of the view.', {
  facets: z.array(
    z.object({
      field: z.string(),
      values: z.array(z.object({ value: groupValue, count })).describe('At most 50, most frequent first.'),
      others: count.describe('Number of calls with any other value, or with any other type of feedback.'),
      sampled: count
        .nullable()
        .describe(
          `How many of the newest calls were counted, for values of calls: at most ${sampledCalls}; of op, model, status, user and origin, how many were looked at where conditions need that of more than ${examinedCalls.indexed}, or than ${examinedCalls.rows} if they read rows. Null if all were.`,
        ),
    }),
  ),
  is_deriving: isDeriving,
})

export const maxBuckets = 1_000

/** The range of the buckets and their length. */
export const bucketSpan = {
  after: dateTime.describe('A time in the first bucket.'),
  before: dateTime.nullish().describe('Default: now.'),
  step_seconds: z
    .int()
    .min(1)
    .max(366 * 86_400)
    .describe(
      `The length of a bucket. Buckets begin at multiples of it since 1970 in UTC. At most ${maxBuckets} buckets.`,
    ),
}

export const BucketsBody = z.strictObject({
  ...selection,
  ...bucketSpan,
  by: groupField
    .nullish()
    .describe(
      'Groups the calls: the 20 largest groups, the 6 largest by errors, by tokens read and written and with `costs` by cost, and all others together.',
    ),
  timed: z
    .enum(['latency', 'first_token'])
    .nullish()
    .describe('Adds the median and the 95th percentile of this time, within 9 %, and its histogram.'),
  costs: flag(false).describe(
    'Adds what the calls cost, by the prices of the project, else as clients state it.',
  ),
})
export type BucketsBody = z.output<typeof BucketsBody>

const sums = {
  count: count.describe('Number of calls that started.'),
  errors: count.describe('Number of these calls that failed themselves.'),
  ended: count,
  input_tokens: z.number(),
  output_tokens: z.number(),
}

const Times = z.object({
  count: count.describe('Number of calls that have this time.'),
  mean_ms: z.number(),
  p50_ms: z.number(),
  p95_ms: z.number(),
  histogram: z
    .array(z.tuple([z.number(), count]))
    .describe(
      'Pairs of the start of a bin in milliseconds and the number of calls in it; four bins per octave.',
    ),
})

export const BucketsAnswer = answer('Calls by start time. Empty buckets are left out.', {
  groups: z
    .array(z.object({ value: groupValue, is_others: z.boolean() }))
    .describe('Largest first; without `by` there is only one.'),
  buckets: z.array(
    z.object({
      started_at: time,
      group: count.describe('The index of the group in `groups`.'),
      ...sums,
      times: Times.nullable(),
      cost: z.number().nullable().optional().describe('Only with `costs`; null without any.'),
      unpriced: count
        .optional()
        .describe(
          'Number of calls that used a model without a price and state no cost, or several models; `cost` does not include them.',
        ),
    }),
  ),
  sampled: count
    .nullable()
    .describe(
      `How many of the newest calls of the time range were looked at, where conditions need that of more than ${examinedCalls.indexed}, or than ${examinedCalls.rows} if they read rows. Null if all were.`,
    ),
  is_deriving: isDeriving,
})
