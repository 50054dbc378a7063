import { ofApplication } from '../../filter/origin.ts'
import { type SearchResults, searchCalls } from '../../server/views.ts'

export type Hit = SearchResults['found'][number]

interface HitsWanted {
  project: string
  text: string
  /** With the calls of judges and evaluations. */
  isAll: boolean
  after: string | undefined
  /** Reads pages until there are as many hits; at least one page. */
  wanted: number
}

export interface Hits {
  hits: readonly Hit[]
  /** Where the next page begins; null where there is none. */
  next: string | null
  searchable: SearchResults['searchable']
}

export async function readHits(
  { project, text, isAll, after, wanted }: HitsWanted,
  signal: AbortSignal,
): Promise<Hits> {
  const hits: Hit[] = []
  const query = isAll ? undefined : ofApplication(undefined)
  let next = after
  while (true) {
    const page = await searchCalls(project, text, query, next, signal)
    hits.push(...page.found)
    if (page.next === null || hits.length >= wanted) {
      return { hits, next: page.next, searchable: page.searchable }
    }
    next = page.next
  }
}
