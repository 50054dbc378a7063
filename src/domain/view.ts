import type { Expression } from './expressions/expression.ts'
import { parseExpressionText } from './expressions/parse.ts'

export interface SortBy {
  field: string
  direction: 'asc' | 'desc'
}

export interface Page {
  /** Null means all. */
  limit: number | null
  offset: number
}

/** Which rows of a project are read, in which order, and which page of them. */
export interface View extends Page {
  project: string
  query: Expression | undefined
  sort: readonly SortBy[]
}

interface ViewBody {
  project_id: string
  query?: { text: string } | null | undefined
  sort_by?: readonly SortBy[] | null | undefined
  limit?: number | null | undefined
  offset?: number | null | undefined
}

/** The view that the body of a request describes. */
export function viewOf({ project_id, query, sort_by, limit, offset }: ViewBody): View {
  return {
    project: project_id,
    query: query ? parseExpressionText(query.text) : undefined,
    sort: sort_by ?? [],
    limit: limit ?? null,
    offset: offset ?? 0,
  }
}
