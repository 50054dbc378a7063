import { z } from 'zod'
import { answer, plainText, projectId } from '../../domain/fields.ts'
import { monotonicNow } from '../../domain/time.ts'
import { maxDays } from './buckets.ts'

const maxTimeBuckets = 256
const dayMs = 86_400_000
const epochMs = z.int().min(0).max(8_000_000_000_000)
const names = (about: string) => z.array(plainText(4096).min(1)).max(100).nullish().describe(about)

const groupNames = [
  'scorer_id',
  'span_agent_name',
  'span_agent_version',
  'span_prompt_version',
  'span_status_code',
] as const
export type GroupName = (typeof groupNames)[number]

export const FeedbackAggregateBody = z
  .strictObject({
    project_id: projectId,
    after_ms: epochMs.describe('Milliseconds since 1970; included.'),
    before_ms: epochMs.nullish().describe('Excluded. Default: now.'),
    time_bucket_seconds: z
      .int()
      .min(1)
      .nullish()
      .describe(`At most ${maxTimeBuckets} buckets. Without it, one bucket over the whole range.`),
    feedback_types: names('Only types that begin with one of these.'),
    tags: names('Only feedback with one of these tags.'),
    rating_min: z.number().min(0).max(1).nullish().describe('Only feedback with such a rating.'),
    rating_max: z.number().min(0).max(1).nullish(),
    monitor_ids: names(
      'Only feedback that one of these triggers caused: trigger_ref; * at the end for a beginning.',
    ),
    scorer_ids: names('Only feedback of these scorers: runnable_ref; * at the end for a beginning.'),
    span_agent_names: names(
      'Only feedback about calls that name one of these agents, or sent with such a span_agent_name.',
    ),
    span_prompt_ids: names('Only feedback about calls that named one of these prompts.'),
    span_types: z
      .array(z.enum(['agent_turn', 'agent_conversation']))
      .max(2)
      .nullish()
      .describe(
        'Only feedback about calls that are the root of their trace (agent_turn), or about whole conversations.',
      ),
    group_by: z.array(z.enum(groupNames)).max(groupNames.length).nullish(),
  })
  .check((context) => {
    const { after_ms, before_ms, time_bucket_seconds, group_by, ...others } = context.value
    const ms = (before_ms ?? monotonicNow() / 1000) - after_ms
    const refused = (path: string, input: unknown, message: string) =>
      context.issues.push({ code: 'custom', path: [path], input, message })
    if (ms <= 0) refused('before_ms', before_ms, 'expected a time after after_ms')
    const { project_id, ...filters } = others
    const isPlain =
      time_bucket_seconds == null &&
      !group_by?.length &&
      Object.values(filters).every((value) => value == null)
    if (ms > maxDays * dayMs && !isPlain) {
      refused(
        'before_ms',
        before_ms,
        `expected at most ${maxDays} days after after_ms with buckets, groups or filters`,
      )
    }
    if (time_bucket_seconds != null && ms / (time_bucket_seconds * 1000) > maxTimeBuckets) {
      refused(
        'time_bucket_seconds',
        time_bucket_seconds,
        `expected at most ${maxTimeBuckets} buckets in the range`,
      )
    }
  })
export type FeedbackAggregateBody = z.output<typeof FeedbackAggregateBody>

const counts = z.record(z.string(), z.number())

export const FeedbackAggregateAnswer = answer(
  'What was said, by time and group. Empty buckets are left out.',
  {
    time_bucket_seconds: z.int().nullable(),
    after_ms: z.int(),
    before_ms: z.int(),
    buckets: z.array(
      z.object({
        time_bucket_start_ms: z.int(),
        group: z.record(z.string(), z.string()).describe('An empty text where there is none.'),
        total_count: z.int().min(1).describe('Number of feedback records.'),
        scored_count: z.int().min(0).describe('Those with a tag or a rating.'),
        tag_counts: counts,
        reaction_counts: counts.describe('By emoji, without skin tones.'),
        rating_counts: counts.describe('How many ratings there are of each name.'),
        rating_sums: counts.describe('Their sums.'),
      }),
    ),
  },
)
