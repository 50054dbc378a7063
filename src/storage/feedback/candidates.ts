import { evaluate } from '../../domain/expressions/evaluate.ts'
import { allHolding, type Expression, fieldsOf } from '../../domain/expressions/expression.ts'
import { jsonField } from '../../domain/expressions/json-field.ts'
import { payloadField } from '../calls/fields.ts'
import { maxCandidates } from '../search/candidates.ts'
import { entriesOf } from '../search/entries.ts'
import { compileCondition } from '../sql/conditions.ts'
import { allOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader } from '../transaction.ts'
import { maxPayloadBytes } from './feedback.ts'

interface FeedbackView {
  project: string
  query: Expression | undefined
}

/**
 * A condition that leaves only calls of whose feedback some meets a condition of a view, which is also true of the latest.
 * Undefined if these are many: they are soon found in the order of the page.
 */
export async function feedbackCandidates(
  db: BoundReader,
  { project, query }: FeedbackView,
): Promise<Sql | undefined> {
  const { dialect } = db
  const payload = { kind: 'json', column: rawSql('feedback.payload'), most: maxPayloadBytes } as const
  for (const condition of allHolding(query)) {
    const type = typeIn(condition)
    if (type === undefined) continue
    const conditions = [
      sql`project_id = ${project} AND call_id IS NOT NULL`,
      ...(type === null ? [] : [sql`feedback_type = ${type}`]),
      compileCondition(
        condition,
        (field) => ({ ...payload, path: payloadField(field)?.path ?? [] }),
        dialect,
      ),
      dialect.cancellable,
    ]
    const rows = await allRows<{ id: string }>(
      db,
      sql`SELECT call_id AS id FROM feedback WHERE ${allOf(conditions)} LIMIT ${maxCandidates + 1}`,
    )
    if (rows.length <= maxCandidates) return entriesOf(db).isAmong([...new Set(rows.map(({ id }) => id))])
  }
  return undefined
}

/** Whether a condition of the view is about feedback, and fails without any. */
export const asksForFeedback = ({ query }: FeedbackView): boolean =>
  allHolding(query).some((condition) => typeIn(condition) !== undefined)

/** The type of feedback, null for any, without which the condition cannot hold. */
function typeIn(condition: Expression): string | null | undefined {
  const alternatives = condition.op === 'or' ? condition.operands : [condition]
  const types = new Set(alternatives.map(typeOfOne))
  const [type] = types
  return types.size === 1 ? type : undefined
}

/** Of a condition on one field: two may be read of different feedback. */
function typeOfOne(condition: Expression): string | null | undefined {
  const [field, ...others] = fieldsOf(condition)
  const payload = field === undefined || others.length > 0 ? undefined : payloadField(field)
  const holdsWithout = () => evaluate(condition, () => jsonField(null, [])) === true
  return payload === undefined || holdsWithout() ? undefined : payload.type
}
