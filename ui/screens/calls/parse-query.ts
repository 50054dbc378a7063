import { type Expression, FilterError, queryOf, readFilter } from '../../../packages/filter/index.ts'

type ParsedQuery = { query: Expression | undefined; problem?: undefined } | { problem: string }

/** The query for the text of the filter bar. */
export function parseQuery(text: string): ParsedQuery {
  try {
    return { query: queryOf(readFilter(text)) }
  } catch (error) {
    if (error instanceof FilterError) return { problem: error.message }
    throw error
  }
}
