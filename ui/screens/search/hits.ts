import { type SearchResults, searchCalls } from '../../server/views.ts'

export type Hit = SearchResults['found'][number]

interface HitsWanted {
  project: string
  text: string
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
  { project, text, after, wanted }: HitsWanted,
  signal: AbortSignal,
): Promise<Hits> {
  const hits: Hit[] = []
  let next = after
  while (true) {
    const page = await searchCalls(project, text, next, signal)
    hits.push(...page.found)
    if (page.next === null || hits.length >= wanted) {
      return { hits, next: page.next, searchable: page.searchable }
    }
    next = page.next
  }
}
