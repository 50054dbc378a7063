import { randomUUID } from 'node:crypto'

export const project = 'acme/qa'

/** A start as a client sends it; what matters to a test is overridden. */
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
