import { FilterError } from '../../filter/filter.ts'
import { type Expression, queryOf } from '../../filter/query.ts'
import { readFilter } from '../../filter/text.ts'

type Read = { query: Expression | undefined; problem?: undefined } | { problem: string }

/** The query for the text of the filter bar. */
export function queryIn(text: string): Read {
  try {
    return { query: queryOf(readFilter(text)) }
  } catch (error) {
    if (error instanceof FilterError) return { problem: error.message }
    throw error
  }
}
