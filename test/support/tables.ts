import type { TestApp } from './app.ts'
import { project } from './calls.ts'

export interface Stored {
  digest: string
  row_digests: string[]
}

export async function createTable({ post }: Pick<TestApp, 'post'>, rows: unknown[]): Promise<Stored> {
  const answer = await post('/table/create', { table: { project_id: project, rows } })
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json
}

/** The values of a table's rows, in their order. */
export async function rowsOf(
  { post }: Pick<TestApp, 'post'>,
  digest: string,
  fields: Record<string, unknown> = {},
): Promise<unknown[]> {
  const answer = await post('/table/query', { project_id: project, digest, ...fields })
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json.rows.map(({ val }: { val: unknown }) => val)
}
