import { type Found, searchCalls } from '../../server/views.ts'

export type Hit = Found['found'][number]

interface HitsWanted {
  project: string
  text: string
  after: string | undefined
  /** A page where it is fewer. */
  wanted: number
}

export interface Hits {
  hits: readonly Hit[]
  /** Behind which there are more. */
  next: string | null
  searchable: Found['searchable']
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
