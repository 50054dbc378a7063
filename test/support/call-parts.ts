import { randomUUID } from 'node:crypto'
import { type CallRow, selectCalls } from '../../src/storage/calls/calls.ts'
import type { CallEnd, CallPart, CallStart } from '../../src/storage/calls/parts.ts'
import type { Database } from '../../src/storage/database.ts'
import { rawSql, sql } from '../../src/storage/sql/sql.ts'

/** Parts of calls as the store accepts them; a test overrides what matters to it. */

export const secondMicros = 1_000_000

/** 2026-01-02T03:04:05Z */
export const startedAt = 1_767_323_045 * secondMicros

export function newProject(): string {
  return `acme/${randomUUID()}`
}

export function startFields(id: string, fields: Partial<CallStart> = {}): CallStart {
  return {
    trace_id: id,
    parent_id: null,
    thread_id: null,
    turn_id: null,
    op_name: 'answer',
    started_at: startedAt,
    user_id: 'alice',
    run_id: null,
    run_step: null,
    expire_at: null,
    start_bytes: 4,
    attributes: '{}',
    inputs: '{}',
    ...fields,
  }
}

export function endFields(fields: Partial<CallEnd> = {}): CallEnd {
  return {
    trace_id: null,
    ended_at: startedAt + secondMicros,
    exception: null,
    run_step_end: null,
    end_bytes: 4,
    output: '{}',
    summary: '{}',
    ...fields,
  }
}

export function startPart(
  project: string,
  id: string,
  fields: Partial<CallStart> & { display_name?: string | null } = {},
): CallPart & { start: CallStart } {
  const { display_name = null, ...rest } = fields
  return { project_id: project, id, display_name, start: startFields(id, rest) }
}

export function endPart(
  project: string,
  id: string,
  fields: Partial<CallEnd> & { display_name?: string | null } = {},
): CallPart & { end: CallEnd } {
  const { display_name = null, ...rest } = fields
  return { project_id: project, id, display_name, end: endFields(rest) }
}

export function wholePart(
  project: string,
  id: string,
  start: Partial<CallStart> & { display_name?: string | null } = {},
  end: Partial<CallEnd> = {},
): CallPart & { start: CallStart; end: CallEnd } {
  return { ...startPart(project, id, start), end: endFields(end) }
}

/** The stored rows of a project, including those that nobody may see. */
export function storedRows(db: Database, project: string): Promise<Record<string, unknown>[]> {
  return db.all(sql`SELECT * FROM calls WHERE project_id = ${project} ORDER BY id`)
}

export interface Question {
  limit?: number | null
  offset?: number
  rows?: number
  signal?: AbortSignal
  now?: number
  totalStorageSize?: boolean
}

/** Oldest first, in the order of the stream. */
export async function visibleCalls(
  db: Database,
  project: string,
  question: Question = {},
): Promise<CallRow[]> {
  const found: CallRow[] = []
  for await (const chunk of streamOfCalls(db, project, question)) found.push(...chunk)
  return found
}

export function streamOfCalls(
  db: Database,
  project: string,
  {
    limit = null,
    offset = 0,
    rows,
    signal = new AbortController().signal,
    now,
    totalStorageSize,
  }: Question = {},
): AsyncIterable<CallRow[]> {
  const query = {
    projectId: project,
    conditions: [],
    order: [rawSql('started_at'), rawSql('id')],
    limit,
    offset,
  }
  const columns = {
    large: new Set(['inputs', 'output'] as const),
    totalStorageSize: totalStorageSize ?? false,
  }
  return db.stream<CallRow>(selectCalls(db, query, columns, now ?? Date.now() * 1000), {
    signal,
    ...(rows !== undefined && { rows }),
  })
}
