import { z } from 'zod'
import { answer, dateTime, flag, plainText, projectId } from '../../domain/fields.ts'
import { CallsFilter } from '../calls/contract.ts'
import { offset, query, sortBy } from '../paging.ts'

const time = z.iso.datetime()
const count = z.int().min(0)

/** The calls of a view. */
export const selection = {
  project_id: projectId,
  filter: CallsFilter.nullish(),
  query,
}

const mostCalls = 1_000
export const usualCalls = 100
export const usualCount = 10_000

/** A value inside the JSON of calls. */
const valuePath = plainText(1024).regex(
  /^(?:inputs|output|attributes|summary)\..+$/s,
  'expected a path such as inputs.question',
)

const mostValues = 8

export const CallsBody = z.strictObject({
  ...selection,
  columns: z.array(valuePath).max(mostValues).nullish().meta({
    description: 'Values inside of calls that are shown beside the rest, such as inputs.question.',
  }),
  sort_by: sortBy().meta({ description: 'Newest first when absent.' }),
  limit: z.int().min(0).max(mostCalls).nullish().meta({ default: usualCalls }),
  offset,
  after: plainText(128)
    .nullish()
    .meta({ description: 'Goes on behind a page in the order of time: `next` of the answer before.' }),
  count_up_to: z.int().min(0).max(1_000_000).nullish().meta({
    default: usualCount,
    description: 'Counts the calls of the view as far as this; 0 does not count.',
  }),
})
export type CallsBody = z.output<typeof CallsBody>

const isDeriving = z.boolean().meta({
  description:
    'Calls that an older version wrote are still being read: what is counted of them may be missing.',
})

const preview = (of: string) =>
  z
    .string()
    .nullable()
    .meta({ description: `The first 160 characters of ${of}, in one line.` })

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
  exception: z.string().nullable().meta({ description: 'Its first 200 characters.' }),
  model: z
    .string()
    .nullable()
    .meta({ description: 'The models of its usage, separated by a comma; else the one that was asked for.' }),
  latency_ms: z.number().nullable(),
  first_token_ms: z.number().nullable(),
  input_tokens: count.nullable(),
  output_tokens: count.nullable(),
  cost: z.number().nullable().meta({ description: 'By the prices of the project; null without a price.' }),
  svc_user_id: z.string().nullable(),
  storage_size_bytes: count,
  input_preview: preview('the last message of a user'),
  output_preview: preview('the answer'),
  feedback: z.array(z.object({ feedback_type: z.string(), emoji: z.string().nullable(), count })),
  values: z.array(z.string().nullable()).optional().meta({
    description: 'The first 200 characters of the JSON of each of `columns`; null where there is none.',
  }),
})
export type LightCall = z.output<typeof LightCall>

export const CallsAnswer = answer('Calls without what they carry.', {
  calls: z.array(LightCall),
  next: z
    .string()
    .nullable()
    .meta({ description: 'Null on the last page, and in any order but that of time.' }),
  count: z
    .object({
      value: count,
      is_exact: z.boolean().meta({ description: 'False: there are at least so many.' }),
    })
    .nullable(),
  is_deriving: isDeriving,
})

export const groupField = z.enum(['op', 'model', 'status', 'user'])

/** Feedback on calls; one call may have several. */
const saidField = z.enum(['feedback', 'reaction'])

export const sampledCalls = 2_000

export const FacetsBody = z.strictObject({
  ...selection,
  fields: z
    .array(z.union([groupField, saidField, valuePath]))
    .min(1)
    .max(16)
    .nullish()
    .meta({
      description:
        'op, model, status and user when absent. feedback counts calls by the types of their feedback, reaction by the last emoji. Values inside of calls, such as inputs.question, are counted in the newest of them.',
    }),
})
export type FacetsBody = z.output<typeof FacetsBody>

const groupValue = z.string().nullable().meta({
  description:
    'Null: without one. An op stands for all its versions, as `filter.op_names` takes it. A value inside of calls is its JSON.',
})

export const FacetsAnswer = answer('For each field the values that most calls of the view have.', {
  facets: z.array(
    z.object({
      field: z.string(),
      values: z
        .array(z.object({ value: groupValue, count }))
        .meta({ description: 'At most 50, the largest first.' }),
      others: count.meta({ description: 'Calls with any other value; of feedback, with any other type.' }),
      sampled: count.nullable().meta({
        description: `Where only the newest calls are counted, as for values inside of them: how many, at most ${sampledCalls}. Null: all.`,
      }),
    }),
  ),
  is_deriving: isDeriving,
})

export const mostBuckets = 1_000

/** The range of the buckets and their length. */
export const bucketSpan = {
  after: dateTime.meta({ description: 'The first bucket holds it.' }),
  before: dateTime.nullish().meta({ description: 'Now when absent.' }),
  step_seconds: z
    .int()
    .min(1)
    .max(366 * 86_400)
    .meta({
      description: `Buckets begin at multiples of it since 1970 in UTC. At most ${mostBuckets} buckets.`,
    }),
}

export const BucketsBody = z.strictObject({
  ...selection,
  ...bucketSpan,
  by: groupField.nullish().meta({ description: 'The 20 largest groups, and all others together.' }),
  timed: z.enum(['latency', 'first_token']).nullish().meta({
    description: 'Adds the median and the 95th percentile of this time, within 9 %, and its histogram.',
  }),
  costs: flag(false).meta({ description: 'Adds what the tokens cost by the prices of the project.' }),
})
export type BucketsBody = z.output<typeof BucketsBody>

const sums = {
  count: count.meta({ description: 'Calls that began.' }),
  errors: count.meta({ description: 'Of these, those that failed themselves.' }),
  ended: count,
  input_tokens: z.number(),
  output_tokens: z.number(),
}

const Times = z.object({
  count: count.meta({ description: 'Of calls that have this time.' }),
  mean_ms: z.number(),
  p50_ms: z.number(),
  p95_ms: z.number(),
  histogram: z.array(z.tuple([z.number(), count])).meta({
    description:
      'Pairs of where a bin begins, in milliseconds, and how many are in it; four bins to an octave.',
  }),
})

export const BucketsAnswer = answer('Calls by when they began. Buckets without calls are left out.', {
  groups: z
    .array(z.object({ value: groupValue, is_others: z.boolean() }))
    .meta({ description: 'The largest first; without `by` there is one.' }),
  buckets: z.array(
    z.object({
      started_at: time,
      group: count.meta({ description: 'The place of its group in `groups`.' }),
      ...sums,
      times: Times.nullable(),
      cost: z
        .number()
        .nullable()
        .optional()
        .meta({ description: 'Where `costs` was asked for; null without a price.' }),
      unpriced: count.optional().meta({
        description:
          'Calls that used tokens of a model without a price, or of several models: they are not in `cost`.',
      }),
    }),
  ),
  is_deriving: isDeriving,
})
