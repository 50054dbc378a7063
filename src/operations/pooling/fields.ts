import { z } from 'zod'
import type { Truncation } from '../../../packages/engine/index.ts'
import { jsonObject, plainText } from '../../domain/fields.ts'
import { wrong } from '../../domain/refusals.ts'
import { flag, integer } from '../generation/scalars.ts'

/** Fields that all requests to pooling models have in common. */
export const poolingFields = {
  model: z.string().max(256).nullish(),
  truncate_prompt_tokens: integer(-1, 2 ** 31 - 1)
    .nullish()
    .describe(
      'Truncates each input to this many tokens; -1 is the maximum of the model. If absent, an input that is too long is refused.',
    ),
  priority: integer(-(2 ** 31), 2 ** 31 - 1)
    .nullish()
    .meta({
      description:
        'Requests with a lower value run first. Values other than 0 are refused unless HEDDLE_PRIORITY=on.',
      default: 0,
    }),
  user: z.string().max(1_024).nullish(),
  request_id: plainText(256).min(1).optional(),
  store: flag().nullish().describe('Whether the answer is recorded as a call; `false` turns it off.'),
  metadata: jsonObject().nullish().describe('Stored with the recorded answer.'),
}

export type PoolingFields = z.output<z.ZodObject<typeof poolingFields>>

export const PoolingUsage = z.object({ prompt_tokens: z.int(), total_tokens: z.int() })

export function truncationOf(
  tokens: number | null | undefined,
  side: 'left' | 'right' | null | undefined,
): Truncation | undefined {
  if (tokens === 0) throw wrong('truncate_prompt_tokens', '0, which leaves nothing', '-1, or at least 1')
  if (tokens == null) return undefined
  return { tokens, side: side ?? 'right' }
}
