import { randomUUID } from 'node:crypto'

export const project = 'acme/qa'

/** A start as a client sends it; a test overrides what matters to it. */
export function startOf(fields: Record<string, unknown> = {}) {
  return {
    project_id: project,
    id: randomUUID(),
    op_name: 'answer',
    started_at: '2026-01-02T03:04:05.123456Z',
    attributes: {},
    inputs: { question: 'capital of Chad' },
    ...fields,
  }
}

export function endOf(id: string, fields: Record<string, unknown> = {}) {
  return {
    project_id: project,
    id,
    ended_at: '2026-01-02T03:04:06.5Z',
    output: "N'Djamena",
    summary: {},
    ...fields,
  }
}

/** The start and the end in one call. */
export function completeOf(fields: { id?: string } & Record<string, unknown> = {}) {
  const { id = randomUUID() } = fields
  return { ...startOf(), ...endOf(id), trace_id: id, ...fields }
}

/** The whole record of the call that `startOf({ id })` starts, as alice reads it while it runs. */
export function runningRecord(id: string, fields: Record<string, unknown> = {}) {
  const record = {
    id,
    project_id: project,
    op_name: 'answer',
    display_name: null,
    trace_id: id,
    parent_id: null,
    thread_id: null,
    turn_id: null,
    started_at: '2026-01-02T03:04:05.123456Z',
    ended_at: null,
    exception: null,
    attributes: {},
    inputs: { question: 'capital of Chad' },
    output: null,
    summary: { weave: { status: 'running', trace_name: 'answer' } },
    svc_user_id: 'alice',
    svc_run_id: null,
    svc_run_step: null,
    svc_run_step_end: null,
    expire_at: null,
    deleted_at: null,
    storage_size_bytes: null,
    total_storage_size_bytes: null,
    ...fields,
  }
  return {
    ...record,
    svc_username: record.svc_user_id,
    wb_user_id: record.svc_user_id,
    wb_username: record.svc_user_id,
    wb_run_id: record.svc_run_id,
    wb_run_step: record.svc_run_step,
    wb_run_step_end: record.svc_run_step_end,
  }
}

/** The same call once `endOf(id)` has arrived. */
export function endedRecord(id: string, fields: Record<string, unknown> = {}) {
  return runningRecord(id, {
    ended_at: '2026-01-02T03:04:06.500Z',
    output: "N'Djamena",
    summary: { weave: { status: 'success', latency_ms: 1376, trace_name: 'answer' } },
    ...fields,
  })
}
