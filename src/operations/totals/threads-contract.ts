import { z } from 'zod'
import { dateTime, explainedObject, flag, plainText, projectId, shortList } from '../../domain/fields.ts'
import { threadFields } from '../../domain/thread-fields.ts'
import { limit, offset, query } from '../paging-contract.ts'
import { LightCall } from '../views/contract.ts'

/** Threads of which one request shows more than the times. */
export const maxDetailed = 1_000

const ThreadsFilter = z.strictObject({
  thread_ids: shortList(plainText(512), 1000)
    .nullish()
    .describe('Only these threads. An empty list matches nothing.'),
  after_datetime: dateTime.nullish().describe('Counts only turns that began after this time.'),
  before_datetime: dateTime.nullish().describe('Counts only turns that began before this time.'),
})

export const ThreadsBody = z
  .strictObject({
    project_id: projectId,
    filter: ThreadsFilter.nullish(),
    query: query.describe(
      'Only conversations with a call that it holds for: {"$expr": …}; see docs/queries.md.',
    ),
    include_details: flag(false).describe(
      `Adds the fields from call_count on, of at most ${maxDetailed} conversations.`,
    ),
    limit,
    offset,
    sort_by: z
      .array(z.strictObject({ field: z.enum(threadFields), direction: z.enum(['asc', 'desc']) }))
      .max(16)
      .nullish()
      .describe('Default: the latest first.'),
  })
  .refine(({ include_details, limit: rows }) => !include_details || (rows ?? 0) <= maxDetailed, {
    path: ['limit'],
    error: `expected a number up to ${maxDetailed} with include_details`,
  })
export type ThreadsBody = z.output<typeof ThreadsBody>

const time = z.iso.datetime()
const turn = z.string()
const milliseconds = z.number().nullable()
const names = z.array(z.string()).optional()
const count = z.int().min(0)
const { input_preview, output_preview, exception, status, feedback } = LightCall.shape

export const Thread = explainedObject({
  thread_id: [z.string(), 'The name of the conversation.'],
  turn_count: [z.int().min(1), 'Number of its turns.'],
  start_time: [time, 'When its first turn began.'],
  last_updated: [time, 'When its last turn ended, or began if it runs.'],
  first_turn_id: [turn, 'The call that began first.'],
  last_turn_id: [turn, 'The call that ended last; a running one counts by its start.'],
  p50_turn_duration_ms: [milliseconds, 'The median of its turns that have ended.'],
  p99_turn_duration_ms: [milliseconds, 'The 99th percentile of them.'],
  call_count: [count.optional(), 'Number of its turns and the calls below them.'],
  error_count: [count.optional(), 'Number of these calls that failed themselves.'],
  input_tokens: [count.nullish(), 'Tokens that were read, each counted once.'],
  output_tokens: [count.nullish(), 'Tokens that were written.'],
  cost: [z.number().nullish(), 'What they cost; null without a price.'],
  users: [names, 'The users of its turns, the most frequent first; at most 10.'],
  models: [names, 'The models of its calls.'],
  ops: [names, 'The ops of its turns.'],
  input_preview: [input_preview.optional(), 'The question of the first turn, on one line.'],
  output_preview: [output_preview.optional(), 'The answer of the last turn.'],
  exception: [exception.optional(), 'The exception of the last turn.'],
  status: [status.optional(), 'The status of the last turn.'],
  feedback: [
    feedback.optional(),
    'How often something was said about it, its turns and the calls below them.',
  ],
})
