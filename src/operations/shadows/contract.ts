import { z } from 'zod'
import { answer, plainText, projectId } from '../../domain/fields.ts'

const Shadow = z.strictObject({
  version: plainText(512)
    .min(1)
    .describe('The version that is asked besides: a digest, `latest`, `vN` or another label.'),
  share: z.number().gt(0).max(1).describe('The fraction of the calls. Their ids determine which.'),
  scorer: plainText(2048)
    .min(1)
    .describe(
      'A reference to a scorer with a judge or a check, in this project. It scores both answers, and the higher score wins.',
    ),
  field: plainText(1000)
    .min(1)
    .nullish()
    .describe('The path of the number in the score. Default: its only number, or `passed`.'),
  min_pairs: z
    .int()
    .min(1)
    .max(1_000_000)
    .nullish()
    .meta({ default: 20, description: 'Pairs before which nothing is decided.' }),
})

export const ShadowBody = z.strictObject({ project_id: projectId, shadow: Shadow })
export type ShadowBody = z.output<typeof ShadowBody>

const count = z.int()
const mean = z.number().nullable()
const Side = z.object({
  latency_ms: mean.describe('In the background it includes the waiting for callers.'),
  tokens: mean,
  cost: mean.describe('By the prices of the project; null if one side has none.'),
})

export const ShadowAnswer = answer('The shadow of the label, what it has found, and what follows.', {
  shadow: z
    .object({
      version: z.string(),
      present: z.string().describe('The version that the label names.'),
      share: z.number(),
      scorer: z.string(),
      field: z.string().nullable(),
      min_pairs: count,
      set_by: z.string(),
      set_at: z.iso.datetime(),
      ended_at: z.iso.datetime().nullable(),
      why_ended: z.string().nullable(),
    })
    .nullable()
    .describe('The last one that was set; null if none was.'),
  pairs: count.describe('Calls of which both answers were judged.'),
  wins: count.describe('Pairs in which the shadow is better.'),
  losses: count,
  ties: count,
  waiting: count,
  skipped: count,
  failed: count.describe('Pairs in which the shadow or the scorer gave no answer.'),
  reasons: z.array(
    z.object({
      state: z.enum(['skipped', 'failed']),
      reason: z.string(),
      count,
      detail: z.string().nullable().describe('The detail of one of these pairs.'),
    }),
  ),
  means: z.object({ present: Side, shadow: Side }),
  win_rate: z
    .object({ value: z.number(), low: z.number(), high: z.number() })
    .nullable()
    .describe(
      'The share of wins among the pairs that differ, and its interval (95 %), however often it is read.',
    ),
  decision: z.enum(['better', 'worse', 'undecided']),
  verdict: z.string().describe('The same as a sentence.'),
})
