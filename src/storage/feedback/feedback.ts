import type { Page } from '../../domain/view.ts'
import { type Columns, namesOf, type RowOf } from '../sql/columns.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { Sorting } from '../sql/readings.ts'
import { rowsInOrder } from '../sql/rows-in-order.ts'
import { allOf, join, nothing, type Sql, sql, trusted } from '../sql/sql.ts'
import type { Reader } from '../transaction.ts'

const kinds = {
  project_id: 'text',
  id: 'text',
  feedback_type: 'text',
  svc_ref: 'text',
  /** The call that `svc_ref` names, when it is one of the project. */
  call_id: 'text?',
  user_id: 'text',
  creator: 'text?',
  created_at: 'time',
  payload: 'text',
  annotation_ref: 'text?',
  runnable_ref: 'text?',
  call_ref: 'text?',
  trigger_ref: 'text?',
  queue_id: 'text?',
} as const satisfies Columns

/** What someone says about a thing; `payload` is JSON. */
export type Feedback = RowOf<typeof kinds>

export const feedbackColumns = namesOf(kinds)

const allColumns = trusted(feedbackColumns.join(', '))

export function readFeedback(db: Reader, projectId: string, id: string): Promise<Feedback | undefined> {
  return db.get<Feedback>(
    sql`SELECT ${allColumns} FROM feedback WHERE project_id = ${projectId} AND id = ${id}`,
  )
}

export interface FeedbackQuery extends Page, Sorting {
  projectId: string
  conditions: readonly Sql[]
}

function matching(db: Reader, { projectId, conditions }: FeedbackQuery, source = nothing): Sql {
  return sql`FROM feedback${source} WHERE ${allOf([sql`project_id = ${projectId}`, ...conditions, db.dialect.going])}`
}

/** `selected` are the columns, by the names that the rows will have. */
export function selectFeedback(db: Reader, query: FeedbackQuery, selected: readonly Sql[]): Sql {
  return rowsInOrder(db.dialect, {
    table: 'feedback',
    columns: join(selected, ', '),
    matching: matching(db, query, query.source),
    order: query.order,
    page: query,
  })
}

export function countFeedback(db: Reader, query: FeedbackQuery): Sql {
  return sql`SELECT count(*) AS count ${matching(db, query)}`
}

/** Of one payload. What is sent is no longer than that in ASCII, and stored it is no longer. */
export const mostPayloadBytes = 1 << 20

const ofCall = trusted('feedback.project_id = calls.project_id AND feedback.call_id = calls.id')

/**
 * The payload that a query of calls means by a kind of feedback and a path: of the latest that has a value there. Null is
 * any kind. It stands where a row of `calls` is at hand.
 */
export function payloadOfCall(dialect: Dialect, type: string | null, path: readonly string[]): Sql {
  const kind = type === null ? trusted('') : sql` AND feedback.feedback_type = ${type}`
  const { exists } = dialect.json(trusted('feedback.payload'), path)
  return sql`(SELECT feedback.payload FROM feedback WHERE ${ofCall}${kind} AND ${exists}
    ORDER BY feedback.created_at DESC, feedback.id DESC LIMIT 1)`
}

/** Bytes of payloads that the record of one call shows: it is one line of text, and a line has to end. */
const mostShownBytes = 16 * 1024 * 1024

/**
 * The feedback of a call, oldest first, as the members of a JSON list, and how many are left out because they are too
 * much. The text is put together where the rows are, so that a large one is not read in the thread that speaks HTTP.
 */
export function feedbackOfCall(dialect: Dialect): { list: Sql; leftOut: Sql } {
  const quoted = (column: string) => dialect.quoted(trusted(column))
  const created = dialect.ordered(sql`'"' || ${dialect.timeText(trusted('created_at'))} || '"'`)
  const members = Object.entries({
    id: quoted('id'),
    feedback_type: quoted('feedback_type'),
    svc_ref: quoted('svc_ref'),
    payload: dialect.stored(trusted('payload'), 'always'),
    creator: quoted('creator'),
    created_at: created,
    svc_user_id: quoted('user_id'),
    annotation_ref: quoted('annotation_ref'),
    runnable_ref: quoted('runnable_ref'),
    call_ref: quoted('call_ref'),
    trigger_ref: quoted('trigger_ref'),
    queue_id: quoted('queue_id'),
  }).map(([name, value], index) => sql`${trusted(`'${index > 0 ? ',' : '{'}"${name}":'`)} || ${value}`)
  const text = sql`${join(members, ' || ')} || '}'`
  const size = dialect.bytes(trusted('feedback.payload'))
  const sized = sql`(SELECT feedback.*, sum(${size}) OVER (ORDER BY feedback.created_at, feedback.id) AS sum_of_bytes
    FROM feedback WHERE ${ofCall}) AS said`
  const most = trusted(String(mostShownBytes))
  return {
    list: sql`(SELECT string_agg(${text}, ',' ORDER BY created_at, id) FROM ${sized} WHERE sum_of_bytes <= ${most})`,
    leftOut: sql`(SELECT count(*) FROM ${sized} WHERE sum_of_bytes > ${most})`,
  }
}
