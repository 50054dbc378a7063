import type { Dialect } from '../../storage/dialect.ts'
import type { RowOrder } from '../../storage/evaluation-results.ts'
import { sql } from '../../storage/sql.ts'
import { acceptedFields, fieldRefused, readingOf, resultField } from './result-fields.ts'
import type { ResultsBody } from './results-contract.ts'

/** What rows are sorted by, checked. */
export function rowOrderOf(
  sortBy: ResultsBody['sort_by'],
  evaluations: readonly string[],
  dialect: Dialect,
): RowOrder[] {
  return (sortBy ?? []).map(({ field, direction, evaluation_call_id, mode }, index) => {
    const known = resultField(field)
    if (known === undefined) throw fieldRefused(`sort_by.${index}.field`, field, acceptedFields)
    const isScore = known.document === 'scores'
    if (mode === 'difference' && !isScore) {
      throw fieldRefused(
        `sort_by.${index}.mode`,
        mode,
        'value for this field; difference is for scores.… alone',
      )
    }
    const { column, path } = readingOf(known, dialect)
    const { number, text } = dialect.json(column, path)
    const difference = mode === 'difference' && evaluations.length > 1
    return {
      reading: isScore
        ? {
            kind: 'score',
            number: sql`CASE ${text} WHEN 'true' THEN 1 WHEN 'false' THEN 0 ELSE ${number} END`,
          }
        : { kind: 'document', number, text },
      needsCall: known.needsCall,
      evaluation: difference ? null : (evaluation_call_id ?? null),
      difference,
      direction: direction ?? 'asc',
    }
  })
}
