import { type JsonNode, jsonNode, membersOf, nodeAt, sourceOf, stringOf } from '../value/json-index.ts'
import { request, requestJson } from './request.ts'

export interface TableRow {
  digest: string
  val: JsonNode
  index: number
}

interface RowsView {
  project: string
  table: string
  /** The path of a column. */
  sort?: { field: string; direction: 'asc' | 'desc' } | undefined
}

/** In the order of the table, unless another is given. */
export async function readRows(
  { project, table, sort }: RowsView,
  { offset, limit }: { offset: number; limit: number },
  signal: AbortSignal,
): Promise<TableRow[]> {
  const body = { project_id: project, digest: table, offset, limit, ...(sort && { sort_by: [sort] }) }
  const rows = nodeAt(jsonNode(await (await request('/table/query', { body, signal })).text()), 'rows')
  if (rows === undefined) return []
  return [...membersOf(rows)].map(({ node }) => ({
    digest: stringOf(nodeAt(node, 'digest')) ?? '',
    val: nodeAt(node, 'val') ?? jsonNode('null'),
    index: Number(sourceOf(nodeAt(node, 'original_index') ?? jsonNode('0'))),
  }))
}

export async function countRows(project: string, table: string, signal: AbortSignal): Promise<number> {
  const body = { project_id: project, digest: table }
  return (await requestJson<{ count: number }>('/table/query_stats', { body, signal })).count
}
