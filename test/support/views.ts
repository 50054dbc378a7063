import type { Expression } from '../../src/domain/expressions/expression.ts'
import type { View } from '../../src/domain/view.ts'

/** All rows of a project in their own order, unless the fields say otherwise. */
export function viewIn(project: string, fields: Partial<View> = {}): View {
  return { project, query: undefined, sort: [], limit: null, offset: 0, ...fields }
}

export function equals(field: string, value: string): Expression {
  const literal = { kind: 'text', value, text: value } as const
  return {
    op: 'compare',
    by: 'eq',
    left: { op: 'field', field },
    right: { op: 'literal', literal },
    path: 'query',
  }
}

/** All rows of a stream. */
export async function collect<Row>(chunks: AsyncIterable<Row[]>): Promise<Row[]> {
  const rows: Row[] = []
  for await (const chunk of chunks) rows.push(...chunk)
  return rows
}
