import type { z } from 'zod'
import type { Expression } from '../../packages/filter/index.ts'
import type { ColumnsAnswer } from '../../src/operations/views/columns-contract.ts'
import type { FacetsAnswer } from '../../src/operations/views/contract.ts'
import type { SearchAnswer } from '../../src/operations/views/search-contract.ts'
import { requestJson } from './request.ts'

type Facets = z.output<typeof FacetsAnswer>
export type Facet = Facets['facets'][number]
type Columns = z.output<typeof ColumnsAnswer>
export type SearchResults = z.output<typeof SearchAnswer>

/** Which calls are meant. */
export interface CallsScope {
  project: string
  roots: boolean
  query: Expression | undefined
}

const bodyOf = ({ project, roots, query }: CallsScope) => ({
  project_id: project,
  filter: { trace_roots_only: roots },
  ...(query && { query: { $expr: query } }),
})

export async function readFacets(
  meant: CallsScope,
  fields: readonly string[],
  signal: AbortSignal,
): Promise<Facet[]> {
  const body = { ...bodyOf(meant), fields }
  return (await requestJson<Facets>('/views/facets', { body, signal })).facets
}

export const readColumns = (meant: CallsScope, signal: AbortSignal): Promise<Columns> =>
  requestJson<Columns>('/views/columns', { body: bodyOf(meant), signal })

export const searchCalls = (
  project: string,
  text: string,
  query: Expression | undefined,
  after: string | undefined,
  signal: AbortSignal,
): Promise<SearchResults> =>
  requestJson<SearchResults>('/views/search', {
    body: { project_id: project, text, limit: 30, after, ...(query && { query: { $expr: query } }) },
    signal,
  })
