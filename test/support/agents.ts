import assert from 'node:assert/strict'
import type { TestApp } from './app.ts'
import { completeOf } from './calls.ts'

/** So many seconds after a fixed time, as answers write it. */
export const at = (second: number): string =>
  new Date(Date.UTC(2026, 0, 2, 3, 0, second)).toISOString().replace('.000', '')

/** What an invocation of an agent has by OpenTelemetry's conventions. */
export const agentAttributes = (name: string, version?: string) => ({
  gen_ai: { operation: { name: 'invoke_agent' }, agent: { name, ...(version !== undefined && { version }) } },
})

/** Stores calls in a project of their own. */
export async function storedCalls(post: TestApp['post'], name: string, calls: object[]): Promise<string> {
  const project_id = `acme/${name}`
  const batch = calls.map((call) => completeOf({ ...call, project_id }))
  const { status, text } = await post(`/v2/${project_id}/calls/complete`, { batch })
  assert.equal(status, 200, text)
  return project_id
}
