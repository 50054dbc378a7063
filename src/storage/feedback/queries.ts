import { checkPath, splitPath } from '../../domain/expressions/path.ts'
import { type Refusal, refuse } from '../../domain/refusals.ts'
import type { View } from '../../domain/view.ts'
import { compileCondition } from '../sql/conditions.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { FieldResolver } from '../sql/readings.ts'
import { sortingOf } from '../sql/sorting.ts'
import { rawSql, type Sql, sql } from '../sql/sql.ts'
import { type LongReader, onlyRow } from '../transaction.ts'
import { countFeedback, type FeedbackQuery, selectFeedback } from './feedback.ts'

/** The columns by their API names, in the order in which they are returned. */
const wireColumns = {
  id: 'id',
  project_id: 'project_id',
  svc_ref: 'svc_ref',
  svc_user_id: 'user_id',
  creator: 'creator',
  created_at: 'created_at',
  feedback_type: 'feedback_type',
  payload: 'payload',
  annotation_ref: 'annotation_ref',
  runnable_ref: 'runnable_ref',
  call_ref: 'call_ref',
  trigger_ref: 'trigger_ref',
  queue_id: 'queue_id',
}

const columns = new Map([
  ...Object.entries(wireColumns),
  ['weave_ref', wireColumns.svc_ref] as const,
  ['wb_user_id', wireColumns.svc_user_id] as const,
])

/** The fields returned by default, including the names that Weave clients read. */
const allFields = [
  'id',
  'project_id',
  'svc_ref',
  'weave_ref',
  'svc_user_id',
  'wb_user_id',
  ...Object.keys(wireColumns).slice(4),
]

/** A record as pairs of field name and value: `payload` is JSON, times are microseconds. */
type FeedbackFields = [name: string, value: unknown][]

export type FoundFeedback = ReturnType<typeof feedbackInView>

/** The feedback of the view, with these fields; no fields means all. Everything is validated before this returns. */
export function feedbackInView(db: LongReader, view: View, fields: readonly string[]) {
  const names = fields.length > 0 ? [...new Set(fields)] : allFields
  const selected = names.map((name, index) => {
    const column = shownColumn(name, `fields.${fields.indexOf(name)}`, db.dialect)
    return sql`${column} AS ${rawSql(`c${index}`)}`
  })
  const query = queryOf(view, db.dialect)
  return {
    /** The total, before limit and offset. */
    total: async (signal: AbortSignal): Promise<number> =>
      (await onlyRow<{ count: number }>(db, countFeedback(db, query), signal)).count,
    async *rows(signal: AbortSignal): AsyncGenerator<FeedbackFields[]> {
      const statement = selectFeedback(db, query, selected)
      for await (const rows of db.stream<Record<string, unknown>>(statement, { signal })) {
        yield rows.map((row): FeedbackFields => names.map((name, index) => [name, row[`c${index}`]]))
      }
    },
  }
}

function shownColumn(name: string, place: string, dialect: Dialect): Sql {
  checkPath(name, place)
  const path = payloadPath(name)
  if (path?.length) return dialect.json(rawSql('payload'), path).text
  const column = columns.get(name)
  if (column === undefined) throw unknownField(place, name, 'count(*)')
  return path === undefined ? rawSql(column) : dialect.stored(rawSql(column), 'always')
}

/** Oldest first by default; the id breaks ties, so that pages neither overlap nor skip. */
function queryOf({ project, query, sort, limit, offset }: View, dialect: Dialect): FeedbackQuery {
  const conditions = query ? [compileCondition(query, feedbackFields('query'), dialect)] : []
  const sorting = sortingOf(sort, feedbackFields, dialect)
  const start = sort.length === 0 ? [rawSql('created_at')] : sorting.order
  return { projectId: project, conditions, ...sorting, order: [...start, rawSql('id')], limit, offset }
}

/** `place` is how a refusal names where the field was given. */
export function feedbackFields(place: string): FieldResolver {
  return (field) => {
    checkPath(field, place)
    const path = payloadPath(field)
    if (path !== undefined) return { kind: 'json', column: rawSql('payload'), path }
    const column = columns.get(field)
    if (column === undefined) throw unknownField(place, field)
    if (column === 'created_at') return { kind: 'time', sql: rawSql(column), isAlways: true }
    return { kind: 'text', sql: rawSql(column) }
  }
}

/** The steps after `payload.`; undefined if the field is not in the payload. */
function payloadPath(field: string): string[] | undefined {
  const [document, ...path] = splitPath(field)
  return document === 'payload' ? path : undefined
}

function unknownField(place: string, field: string, ...others: string[]): Refusal {
  const accepted = [...Object.keys(wireColumns), 'payload.…', ...others].join(', ')
  return refuse('unknown_field', { field: place, given: JSON.stringify(field), accepted })
}
