import { z } from 'zod'
import { answer, plainText, projectId } from '../../domain/fields.ts'
import { CallsFilter } from '../calls/contract.ts'
import { offset, query, sortBy } from '../paging.ts'

const time = z.iso.datetime()
const count = z.int().min(0)

/** Which calls a view is of. */
export const selection = {
  project_id: projectId,
  filter: CallsFilter.nullish(),
  query,
}

export const mostCalls = 1_000
export const usualCalls = 100
export const usualCount = 10_000

export const CallsBody = z.object({
  ...selection,
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

export const isDeriving = z.boolean().meta({
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
