/** The language of the filter bar: text to a query of the record, and back. */

export { described, feedbackWordOf, openFields } from './fields.ts'
export { type Filter, FilterError, type Sign } from './filter.ts'
export { readDuration } from './quantities.ts'
export { type Expression, queryOf } from './query.ts'
export { filterOf } from './stored.ts'
export { readFilter, writeFilter } from './text.ts'
