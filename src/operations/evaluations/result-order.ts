import { checkPath } from '../../domain/expressions/path.ts'
import type { RowOrder } from '../../storage/evaluations/results.ts'
import { meanReading, scoreReading } from '../../storage/evaluations/scores.ts'
import type { EvaluationShape } from '../../storage/evaluations/shapes.ts'
import type { Dialect } from '../../storage/sql/dialect.ts'
import {
  acceptedFields,
  fieldRefused,
  type ResultField,
  readingOf,
  resultField,
  rowToken,
} from './result-fields.ts'
import type { ResultsBody } from './results-contract.ts'

/** What rows are sorted by, checked. */
export function rowOrderOf(
  sortBy: ResultsBody['sort_by'],
  evaluations: readonly string[],
  shapes: readonly EvaluationShape[],
  dialect: Dialect,
): RowOrder[] {
  return (sortBy ?? []).map(({ field, direction, evaluation_call_id, mode }, index) => {
    checkPath(field, `sort_by.${index}.field`)
    const known = resultField(field)
    if (known === undefined) throw fieldRefused(`sort_by.${index}.field`, field, acceptedFields)
    if (mode === 'difference' && known.document !== 'scores') {
      throw fieldRefused(
        `sort_by.${index}.mode`,
        mode,
        'value for this field; difference is for scores.… alone',
      )
    }
    const difference = mode === 'difference' && evaluations.length > 1
    return {
      reading: keyOf(known, shapes, dialect),
      needsCall: known.document === 'outputs' || known.document === 'output',
      evaluation: difference ? null : (evaluation_call_id ?? null),
      difference,
      direction: direction ?? 'asc',
    }
  })
}

function keyOf(
  known: ResultField,
  shapes: readonly EvaluationShape[],
  dialect: Dialect,
): RowOrder['reading'] {
  const { document, path } = known
  if (document === 'scores') {
    const number = scoreReading(shapes, path, dialect)?.mean ?? meanReading(path, dialect)
    return { kind: 'score', number }
  }
  if (document === 'inputs') {
    return { kind: 'row', token: rowToken(path, dialect) }
  }
  const { column } = readingOf(known, shapes, dialect)
  const { number, text } = dialect.json(column, path)
  return { kind: 'document', number, text }
}
