import { fieldsOf } from '../../domain/expressions/expression.ts'
import { parseExpressionText } from '../../domain/expressions/parse.ts'
import { refuse } from '../../domain/refusals.ts'
import type { RowFilter } from '../../storage/evaluations/results.ts'
import type { EvaluationShape } from '../../storage/evaluations/shapes.ts'
import { compileCondition, mostValues } from '../../storage/sql/conditions.ts'
import type { Dialect } from '../../storage/sql/dialect.ts'
import type { FieldReading } from '../../storage/sql/readings.ts'
import { trusted } from '../../storage/sql/sql.ts'
import { acceptedFields, fieldRefused, readingOf, resultField } from './result-fields.ts'
import type { ResultsBody } from './results-contract.ts'

/** Each filter as a condition on a trial. */
export function rowFiltersOf(
  filters: ResultsBody['filters'],
  shapes: readonly EvaluationShape[],
  dialect: Dialect,
): RowFilter[] {
  let values = 0
  return (filters ?? []).map(({ query, evaluation_call_id }, index) => {
    const place = `filters.${index}.query`
    const expression = parseExpressionText(query.text, place)
    const resolve = (field: string): FieldReading => {
      if (field === 'row_digest') return { kind: 'text', sql: trusted('trial.row_digest') }
      const known = resultField(field)
      if (known === undefined) throw fieldRefused(place, field, `${acceptedFields}, row_digest`)
      return readingOf(known, shapes, dialect)
    }
    const condition = compileCondition(expression, resolve, dialect)
    values += condition.values.length
    if (values > mostValues) {
      const why = `needs, together with those before it, ${values} parameters for values and paths`
      throw refuse('invalid_expression', { field: place, why, accepted: `at most ${mostValues}` })
    }
    const documents = new Set(fieldsOf(expression).map((field) => resultField(field)?.document))
    return {
      condition,
      about: aboutOf(documents),
      evaluation: evaluation_call_id ?? null,
    }
  })
}

/** Undefined is the digest of the row, which everything has. */
function aboutOf(documents: ReadonlySet<string | undefined>): RowFilter['about'] {
  if (documents.has('outputs') || documents.has('output')) return 'call'
  return documents.has('inputs') && !documents.has('scores') ? 'row' : 'trial'
}
