import { completeOf, endOf, startOf } from './calls.ts'
import { pricesOf } from './prices.ts'

const ids = { id: '01234567-89ab-7def-8123-456789abcdef', trace_id: '0'.repeat(32) }

const start = (project_id: string) => ({
  ...startOf(),
  ...ids,
  project_id,
  parent_id: '0123456789abcdef',
  display_name: 'name',
  thread_id: 'thread',
  turn_id: 'turn',
  svc_run_id: 'run',
  svc_run_step: 1,
  svc_user_id: null,
  otel_dump: { name: 'span' },
  expire_at: '2200-01-01T00:00:00Z',
})

const end = (project_id: string) => ({
  ...endOf(ids.id),
  project_id,
  trace_id: ids.trace_id,
  started_at: '2026-01-02T03:04:05Z',
  display_name: 'name',
  exception: 'Error',
  svc_run_step_end: 2,
})

const filter = {
  op_names: ['answer'],
  input_refs: ['weave:///acme/qa/object/x:y'],
  output_refs: ['weave:///acme/qa/object/x:y'],
  parent_ids: ['0123456789abcdef'],
  trace_ids: [ids.trace_id],
  call_ids: [ids.id],
  thread_ids: ['thread'],
  turn_ids: ['turn'],
  trace_roots_only: false,
  svc_user_ids: ['alice'],
  svc_run_ids: ['run'],
}

const byId = { $expr: { $eq: [{ $getField: 'id' }, { $literal: 'x' }] } }

/** For each route with a body one that it takes, with every field of its contract. */
export const sampleBodies: Record<string, (project: string) => Record<string, unknown>> = {
  '/call/start': (project) => ({ start: start(project) }),
  '/call/end': (project) => ({ end: end(project) }),
  '/call/upsert_batch': (project) => ({
    batch: [
      { mode: 'start', req: { start: start(project) } },
      { mode: 'end', req: { end: end(project) } },
    ],
  }),
  '/v2/:entity/:project/calls/complete': (project) => ({
    batch: [{ ...completeOf(), ...end(project), ...start(project) }],
  }),
  '/call/read': (project_id) => ({
    project_id,
    id: ids.id,
    include_costs: true,
    include_storage_size: true,
    include_total_storage_size: true,
  }),
  '/call/update': (project_id) => ({ project_id, call_id: ids.id, display_name: 'name' }),
  '/calls/delete': (project_id) => ({ project_id, call_ids: [ids.id] }),
  '/calls/stream_query': (project_id) => ({
    project_id,
    filter,
    query: byId,
    sort_by: [{ field: 'started_at', direction: 'desc' }],
    limit: 10,
    offset: 1,
    columns: ['id'],
    include_costs: true,
    include_feedback: false,
    include_storage_size: true,
    include_total_storage_size: true,
    include_usernames: true,
    expand_columns: [],
    return_expanded_column_values: true,
  }),
  '/calls/query_stats': (project_id) => ({
    project_id,
    filter,
    query: byId,
    limit: 10,
    include_total_storage_size: true,
    expand_columns: [],
  }),
  '/cost/create': (project_id) =>
    pricesOf(
      {
        model: {
          cache_read_input_token_cost: 1,
          cache_creation_input_token_cost: 1,
          prompt_token_cost_unit: 'USD',
          completion_token_cost_unit: 'USD',
          effective_date: '2026-01-01T00:00:00Z',
          provider_id: 'x',
        },
      },
      project_id,
    ),
  '/cost/query': (project_id) => ({
    project_id,
    fields: ['id'],
    query: byId,
    sort_by: [{ field: 'created_at', direction: 'desc' }],
    limit: 10,
    offset: 1,
  }),
  '/cost/purge': (project_id) => ({ project_id, query: byId }),
}

export function sampleBodyOf(url: string, project: string): Record<string, unknown> {
  const sample = sampleBodies[url]
  if (sample === undefined) throw new Error(`there is no sample body for ${url}`)
  return sample(project)
}
