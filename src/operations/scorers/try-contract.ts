import { z } from 'zod'
import { answer, plainText } from '../../domain/fields.ts'
import { checkGiven, fieldMap, judgeGiven } from './contract.ts'

const maxCalls = 10

export const TryBody = z.object({
  judge: judgeGiven.nullish(),
  check: checkGiven.nullish(),
  fields: fieldMap().nullish(),
  call_ids: z.array(plainText(128).min(1)).min(1).max(maxCalls),
})
export type TryBody = z.output<typeof TryBody>

export const Tried = answer('What the scorer says of each call, in the order of the request.', {
  results: z.array(
    z.object({
      call_id: z.string(),
      state: z.enum(['judged', 'skipped', 'failed']),
      output: z.unknown().describe('The score; null if there is none.'),
      detail: z.string().nullable().describe('Why there is no score.'),
    }),
  ),
})
