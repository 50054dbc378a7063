import { project } from './calls.ts'
import type { Contestant } from './contestants.ts'
import { post } from './load.ts'

/** The answer to one request, which has to have status 200. */
export async function ask<Answer>(server: Contestant, path: string, body: unknown): Promise<Answer> {
  const { status, text } = await post(
    server,
    path,
    typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
  )
  if (status !== 200) throw new Error(`${server.name}, ${path} answered ${status}: ${text}`)
  return JSON.parse(text) as Answer
}

export async function countCalls(server: Contestant, expression?: unknown): Promise<number> {
  if (server.name === 'inline') {
    const answer = await fetch(`${server.address}/count`, { headers: server.headers })
    return ((await answer.json()) as { count: number }).count
  }
  const query = expression === undefined ? null : { $expr: expression }
  const { count } = await ask<{ count: number }>(server, '/calls/query_stats', { project_id: project, query })
  return count
}
