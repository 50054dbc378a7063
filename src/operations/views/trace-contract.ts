import { z } from 'zod'
import { plainText, projectId } from '../../domain/fields.ts'
import { LightCall } from './contract.ts'

export const mostOfTrace = 50_000

export const TraceBody = z.strictObject({
  project_id: projectId,
  trace_id: plainText(128),
  limit: z.int().min(1).max(mostOfTrace).nullish().meta({
    default: mostOfTrace,
    description: 'The calls that began first.',
  }),
  layout: z.enum(['rows', 'columns']).nullish().meta({
    default: 'rows',
    description:
      '`rows` is a call on each line, `columns` many calls on each, in less than a fifth of the bytes.',
  }),
})
export type TraceBody = z.output<typeof TraceBody>

/** Only what a tree with times needs: a trace may have very many calls. */
export const TraceCall = LightCall.pick({
  id: true,
  parent_id: true,
  op_name: true,
  display_name: true,
  started_at: true,
  ended_at: true,
  status: true,
  cost: true,
  storage_size_bytes: true,
}).extend({
  feedback: z.int().min(0).meta({ description: 'How often something was said of it.' }),
})
export type TraceCall = z.output<typeof TraceCall>

const place = z.int().min(0)
const sparse = (value: z.ZodNumber, description: string) =>
  z.array(z.tuple([place, value])).meta({ description: `The place of a call and ${description}.` })

/** Many calls at once; values that most of them share are written once. Positions count from 0 over all lines. */
export const TraceColumns = z.object({
  kinds: z
    .array(TraceCall.pick({ op_name: true, display_name: true, status: true }))
    .meta({ description: 'Those that no line before has.' }),
  id: z.array(z.string()),
  kind: z.array(place).meta({ description: 'The place in `kinds` of all lines so far.' }),
  parent: z.array(z.union([place, z.string(), z.null()])).meta({
    description: 'The place of the call that called it, or its id where it has not come yet.',
  }),
  after: z.array(z.int()).meta({
    description:
      'Microseconds between the start of the call before and its own; of the first, since 1970, or below 0 before it.',
  }),
  took: z.array(z.int().nullable()).meta({ description: 'Microseconds; null of a call that runs.' }),
  storage_size_bytes: z.array(place),
  cost: sparse(z.number(), 'its cost, where it has one'),
  feedback: sparse(z.int().min(1), 'how often something was said of it, where anything was'),
})
export type TraceColumns = z.output<typeof TraceColumns>

export const TraceLine = z.union([TraceCall, TraceColumns])
