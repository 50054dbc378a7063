import { type Expression, fieldsOf } from '../../domain/expressions/expression.ts'
import { refuse } from '../../domain/refusals.ts'
import { compileCondition, mostValues } from '../sql/conditions.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { FieldReading } from '../sql/readings.ts'
import { trusted } from '../sql/sql.ts'
import { acceptedFields, fieldRefused, readingOf, resultField } from './result-fields.ts'
import type { RowFilter } from './result-rows.ts'
import type { EvaluationShape } from './shapes.ts'

export interface ResultsFilter {
  query: Expression
  /** Only trials of this evaluation can satisfy it; null is any. */
  evaluation: string | null
}

/** Each filter as a condition on a trial. */
export function rowFiltersOf(
  filters: readonly ResultsFilter[],
  shapes: readonly EvaluationShape[],
  dialect: Dialect,
): RowFilter[] {
  let values = 0
  return filters.map(({ query, evaluation }, index) => {
    const place = `filters.${index}.query`
    const resolve = (field: string): FieldReading => {
      if (field === 'row_digest') return { kind: 'text', sql: trusted('trial.row_digest') }
      const known = resultField(field)
      if (known === undefined) throw fieldRefused(place, field, `${acceptedFields}, row_digest`)
      return readingOf(known, shapes, dialect)
    }
    const condition = compileCondition(query, resolve, dialect)
    values += condition.values.length
    if (values > mostValues) {
      const why = `needs, together with those before it, ${values} parameters for values and paths`
      throw refuse('invalid_expression', { field: place, why, accepted: `at most ${mostValues}` })
    }
    const documents = new Set(fieldsOf(query).map((field) => resultField(field)?.document))
    return { condition, about: aboutOf(documents), evaluation }
  })
}

/** Undefined is the digest of the row, which everything has. */
function aboutOf(documents: ReadonlySet<string | undefined>): RowFilter['about'] {
  if (documents.has('outputs') || documents.has('output')) return 'call'
  return documents.has('inputs') && !documents.has('scores') ? 'row' : 'trial'
}
