import { z } from 'zod'
import {
  answer,
  callId,
  dateTime,
  flag,
  jsonObject,
  jsonValue,
  longList,
  mendedText,
  plainText,
  projectId,
  setByServer,
  shortList,
  traceId,
  withAliases,
} from '../../domain/fields.ts'
import { callIdPattern, isCompletionId } from '../../domain/ids.ts'
import { limit, offset, query, sortBy } from '../paging.ts'

const wireNames = {
  wb_run_id: 'svc_run_id',
  wb_run_step: 'svc_run_step',
  wb_run_step_end: 'svc_run_step_end',
  wb_user_id: 'svc_user_id',
}

const opName = z
  .string()
  .min(1)
  .max(2048)
  .refine(
    (name) => name.length <= 128 || name.includes(':///'),
    'expected at most 128 characters, or a reference',
  )
  .refine(
    (name) => !name.includes('\0') && name.isWellFormed(),
    'expected text without U+0000 and without lone surrogates',
  )
  .meta({ description: 'A name of at most 128 characters, or an op reference.' })

const step = z.int().min(0).nullish()
const label = plainText(512).nullish()
const displayName = mendedText(1024).nullish()

export const startFields = {
  id: callId.nullish().meta({ description: 'Made by the server when absent.' }),
  trace_id: traceId
    .nullish()
    .meta({ description: 'The id of the call itself when absent; a span id with zeros in front.' }),
  parent_id: callId.nullish(),
  op_name: opName,
  display_name: displayName,
  started_at: dateTime,
  attributes: jsonObject(),
  inputs: jsonObject(),
  thread_id: label,
  turn_id: label,
  svc_run_id: label,
  svc_run_step: step,
  svc_user_id: setByServer,
  otel_dump: jsonObject()
    .nullish()
    .meta({ description: 'A span as OpenTelemetry sent it; read back as attributes.otel_span.' }),
  expire_at: dateTime.nullish().meta({ description: 'From then on the call is gone.' }),
}

export const endFields = {
  ended_at: dateTime,
  output: jsonValue().nullish(),
  summary: jsonObject(),
  exception: mendedText(1 << 20).nullish(),
  svc_run_step_end: step,
}

export const StartedCall = withAliases(wireNames, z.object({ project_id: projectId, ...startFields }))
export type StartedCall = z.output<typeof StartedCall>

export const EndedCall = withAliases(
  wireNames,
  z.object({
    project_id: projectId,
    id: callId,
    ...endFields,
    display_name: displayName.meta({ description: 'Replaces the name given at the start.' }),
    trace_id: traceId.nullish(),
    started_at: dateTime.nullish().meta({ description: 'Accepted and not needed: the start tells it.' }),
  }),
)
export type EndedCall = z.output<typeof EndedCall>

export const CompleteCall = withAliases(
  wireNames,
  z.object({ project_id: projectId, ...startFields, ...endFields, id: callId, trace_id: traceId }),
)
export type CompleteCall = z.output<typeof CompleteCall>

export const StartBody = z.object({ start: StartedCall })
export const EndBody = z.object({ end: EndedCall })

const BatchItem = z.discriminatedUnion('mode', [
  z.object({ mode: z.literal('start'), req: StartBody }),
  z.object({ mode: z.literal('end'), req: EndBody }),
])
export const UpsertBatchBody = z.object({ batch: longList(BatchItem) })
export type UpsertBatchBody = z.output<typeof UpsertBatchBody>

export const CompleteBody = z.object({ batch: longList(CompleteCall) })
export type CompleteBody = z.output<typeof CompleteBody>

export const StartAnswer = answer('The ids of the call, also where the server made them.', {
  id: z.string(),
  trace_id: z.string(),
})
export const EmptyAnswer = answer('An empty object: it is written.', {})
export const UpsertBatchAnswer = answer(
  'One entry for each part of the batch, in its order: ids for a start, an empty object for an end.',
  { res: z.array(z.union([StartAnswer, EmptyAnswer])) },
)

const off = flag(false)

/** The id of the call or of its completion, which may contain a request id that the caller chose. */
const callName = plainText(1024)
  .min(1)
  .meta({ description: 'The id of the call, or of the completion that it is.' })

export const ReadBody = z.strictObject({
  project_id: projectId,
  id: callName,
  include_costs: off.meta({ description: 'Adds summary.weave.costs.' }),
  include_storage_size: off.meta({ description: 'Fills storage_size_bytes.' }),
  include_total_storage_size: off.meta({ description: 'Fills total_storage_size_bytes of a root call.' }),
})
export type ReadBody = z.output<typeof ReadBody>

const time = z.iso.datetime()

const userId = z.string().nullable()
const username = z
  .string()
  .optional()
  .meta({ description: 'Of the user in svc_user_id; in a query absent unless asked for.' })
const runId = z.string().nullable()
const runStep = z.number().int().nullable()

export const CallRecord = z.object({
  id: z.string(),
  project_id: z.string(),
  op_name: z.string(),
  display_name: z.string().nullable(),
  trace_id: z.string(),
  parent_id: z.string().nullable(),
  thread_id: z.string().nullable(),
  turn_id: z.string().nullable(),
  started_at: time,
  ended_at: time.nullable(),
  exception: z.string().nullable(),
  attributes: z.record(z.string(), z.unknown()),
  inputs: z.record(z.string(), z.unknown()),
  output: z.unknown(),
  summary: z.record(z.string(), z.unknown()),
  svc_user_id: userId,
  svc_username: username,
  svc_run_id: runId,
  svc_run_step: runStep,
  svc_run_step_end: runStep,
  expire_at: time.nullable(),
  deleted_at: time.nullable(),
  storage_size_bytes: z.number().int().nullable(),
  total_storage_size_bytes: z.number().int().nullable(),
  wb_user_id: userId.meta({ description: 'As svc_user_id.' }),
  wb_username: username.meta({ description: 'As svc_username.' }),
  wb_run_id: runId.meta({ description: 'As svc_run_id.' }),
  wb_run_step: runStep.meta({ description: 'As svc_run_step.' }),
  wb_run_step_end: runStep.meta({ description: 'As svc_run_step_end.' }),
})

export const ReadAnswer = answer('The call.', { call: CallRecord })

export const UpdateBody = z.object({
  project_id: projectId,
  call_id: callName.refine((name) => callIdPattern.test(name) || isCompletionId(name), {
    error: 'expected a UUID, 16 hexadecimal digits, or the id of a completion',
  }),
  display_name: plainText(1024).meta({ description: 'The empty text takes the name away.' }),
})
export type UpdateBody = z.output<typeof UpdateBody>

/** Longer lists have a refusal of their own (413 or 400), so the schema leaves room for them. */
const idList = shortList(plainText(2048), 1000)

export const DeleteBody = z.object({ project_id: projectId, call_ids: idList })
export type DeleteBody = z.output<typeof DeleteBody>
export const DeleteAnswer = answer('How many calls are gone, with what they called.', {
  num_deleted: z.number().int(),
})

export const CallsFilter = withAliases(
  { wb_user_ids: 'svc_user_ids', wb_run_ids: 'svc_run_ids' },
  z.strictObject({
    op_names: idList.nullish().meta({ description: 'Exact, or ending in :* for every version of an op.' }),
    input_refs: idList.nullish(),
    output_refs: idList.nullish(),
    parent_ids: idList.nullish(),
    trace_ids: idList.nullish(),
    call_ids: idList.nullish(),
    thread_ids: idList.nullish().meta({ description: 'An empty list matches nothing.' }),
    turn_ids: idList.nullish().meta({ description: 'An empty list matches nothing.' }),
    trace_roots_only: off,
    svc_user_ids: idList.nullish(),
    svc_run_ids: idList.nullish(),
  }),
)
export type CallsFilter = z.output<typeof CallsFilter>

const expandColumns = z.array(z.string().max(1024)).max(200).nullish()

export const StreamQueryBody = z.strictObject({
  project_id: projectId,
  filter: CallsFilter.nullish(),
  query,
  sort_by: sortBy(),
  limit: limit.meta({ description: '0 and null mean all.' }),
  offset,
  columns: z.array(z.string().max(1024)).max(200).nullish(),
  include_costs: off,
  include_feedback: off,
  include_storage_size: off,
  include_total_storage_size: off,
  include_usernames: off,
  latest_only: off.meta({ description: 'Both say the same: a call that is written again is one call here.' }),
  expand_columns: expandColumns.meta({
    description:
      'References to objects at these paths are replaced by the object, with its reference under _ref.',
  }),
  return_expanded_column_values: flag(true).meta({ description: 'False leaves the references as they are.' }),
})
export type StreamQueryBody = z.output<typeof StreamQueryBody>

export const QueryStatsBody = z.strictObject({
  project_id: projectId,
  filter: CallsFilter.nullish(),
  query,
  limit: z.int().min(1).nullish(),
  include_total_storage_size: off,
  expand_columns: expandColumns.meta({
    description: 'Fields below these paths are refused in the query, as in /calls/stream_query.',
  }),
})
export type QueryStatsBody = z.output<typeof QueryStatsBody>
export const QueryStatsAnswer = answer('How many calls there are.', {
  count: z.number().int(),
  has_more: z.boolean(),
  total_storage_size_bytes: z.number().int().nullable(),
})
