import { z } from 'zod'
import { callKinds } from '../../domain/call-facts/kind.ts'
import { plainText, projectId } from '../../domain/fields.ts'
import { LightCall } from './contract.ts'

export const maxTraceCalls = 50_000

export const TraceBody = z.strictObject({
  project_id: projectId,
  trace_id: plainText(128),
  limit: z.int().min(1).max(maxTraceCalls).nullish().meta({
    default: maxTraceCalls,
    description: 'Returns only the calls that started first.',
  }),
  layout: z.enum(['rows', 'columns']).nullish().meta({
    default: 'rows',
    description:
      '`rows` writes one call per line, `columns` many calls per line in less than a fifth of the bytes.',
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
  input_tokens: true,
  output_tokens: true,
  cost: true,
  storage_size_bytes: true,
}).extend({
  kind: z
    .enum(callKinds)
    .nullable()
    .describe('As the attributes of Weave or OpenTelemetry say; a call with tokens is of a model.'),
  is_inner_step: z
    .boolean()
    .describe('A span of OpenTelemetry without a kind, inputs and output: the inside of a framework.'),
  feedback: z.int().min(0).describe('Number of feedback records about the call.'),
})
export type TraceCall = z.output<typeof TraceCall>

const index = z.int().min(0)
const sparse = (value: z.ZodNumber, description: string) =>
  z.array(z.tuple([index, value])).describe(`Pairs of the index of a call and ${description}.`)

/** Many calls at once; values that most of them share are written once. Positions count from 0 over all lines. */
export const TraceColumns = z.object({
  kinds: z
    .array(
      TraceCall.pick({ op_name: true, display_name: true, status: true, kind: true, is_inner_step: true }),
    )
    .describe('The kinds that no earlier line has.'),
  id: z.array(z.string()),
  kind: z.array(index).describe('Index into the `kinds` of all lines so far.'),
  parent: z
    .array(z.union([index, z.string(), z.null()]))
    .describe(
      'The index of the parent call, or its id if the parent has not been sent yet; null for a root call.',
    ),
  after: z
    .array(z.int())
    .describe(
      'Microseconds between the start of the previous call and that of this one. For the first call, microseconds since 1970 (negative before).',
    ),
  took: z.array(z.int().nullable()).describe('Duration in microseconds; null for a running call.'),
  storage_size_bytes: z.array(index),
  tokens: z
    .array(z.tuple([index, index.nullable(), index.nullable()]))
    .describe('The index of a call, its input tokens and its output tokens, for calls that have any.'),
  cost: sparse(z.number(), 'its cost, for calls that have one'),
  feedback: sparse(z.int().min(1), 'its number of feedback records, for calls with feedback'),
})
export type TraceColumns = z.output<typeof TraceColumns>

export const TraceLine = z.union([TraceCall, TraceColumns])
