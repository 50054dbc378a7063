import assert from 'node:assert/strict'
import { idsOf } from './answers.ts'
import type { Answer, TestApp } from './app.ts'
import { completeOf, project, startOf } from './calls.ts'

/** Calls that a test names; the first began first. A call with `running: true` has no end. */
export interface StoredCalls {
  id(name: string): string
  query(body?: Record<string, unknown>): Promise<Answer>
  /** The names of the calls that a query finds, in its order. */
  found(body?: Record<string, unknown>): Promise<string[]>
  /** The same for a query expression. */
  where(expression: unknown): Promise<string[]>
}

export async function storeCalls(
  post: TestApp['post'],
  calls: Record<string, Record<string, unknown>>,
): Promise<StoredCalls> {
  const ids = new Map<string, string>()
  let minute = 0
  for (const [name, { running, ...fields }] of Object.entries(calls)) {
    const started_at = `2026-01-02T03:${String(minute++).padStart(2, '0')}:00Z`
    const ended_at = started_at.replace('00Z', '01Z')
    const call = running
      ? startOf({ started_at, ...fields })
      : completeOf({ started_at, ended_at, ...fields })
    ids.set(name, call.id)
    const answer = running
      ? await post('/call/start', { start: call })
      : await post('/v2/acme/qa/calls/complete', { batch: [call] })
    assert.equal(answer.status, 200, answer.text)
  }
  const names = new Map([...ids].map(([name, id]) => [id as unknown, name]))
  const query = (body: Record<string, unknown> = {}) =>
    post('/calls/stream_query', { project_id: project, ...body })
  const found = async (body: Record<string, unknown> = {}) => {
    const answer = await query(body)
    assert.equal(answer.status, 200, answer.text)
    return idsOf(answer).map((id) => names.get(id) ?? String(id))
  }
  return {
    id: (name) => ids.get(name) ?? name,
    query,
    found,
    where: (expression) => found({ query: { $expr: expression } }),
  }
}
