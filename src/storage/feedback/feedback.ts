import type { Page } from '../../domain/view.ts'
import { type Columns, kindOf, namesOf, type RowOf } from '../sql/columns.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { Sorting } from '../sql/readings.ts'
import { rowsInOrder } from '../sql/rows-in-order.ts'
import { allOf, emptySql, join, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { Reader } from '../transaction.ts'

const kinds = {
  project_id: 'text',
  id: 'text',
  feedback_type: 'text',
  svc_ref: 'text',
  /** The call that `svc_ref` names, if it is a call of the project. */
  call_id: 'text?',
  /** The conversation that it names, likewise. */
  thread_id: 'text?',
  user_id: 'text',
  creator: 'text?',
  created_at: 'time',
  payload: 'json',
  annotation_ref: 'text?',
  runnable_ref: 'text?',
  call_ref: 'text?',
  trigger_ref: 'text?',
  queue_id: 'text?',
} as const satisfies Columns

/** Feedback on a call, a conversation or an object. */
export type Feedback = RowOf<typeof kinds>

export const feedbackColumns = namesOf(kinds)

const renamed: Partial<Record<keyof Feedback, readonly string[]>> = {
  user_id: ['svc_user_id', 'wb_user_id'],
  svc_ref: ['svc_ref', 'weave_ref'],
}

/** What clients see, with the names that they use, ours first. */
export const shownFeedback = feedbackColumns
  .filter((column) => column !== 'call_id' && column !== 'thread_id')
  .map((column) => {
    const names = renamed[column] ?? [column]
    const isOptional = kinds[column].endsWith('?')
    return { column, kind: kindOf(kinds[column]), isOptional, names, name: names[0] ?? column }
  })

const allColumns = rawSql(feedbackColumns.join(', '))

export function readFeedback(db: Reader, projectId: string, id: string): Promise<Feedback | undefined> {
  return db.get<Feedback>(
    sql`SELECT ${allColumns} FROM feedback WHERE project_id = ${projectId} AND id = ${id}`,
  )
}

export interface FeedbackQuery extends Page, Sorting {
  projectId: string
  conditions: readonly Sql[]
}

function matching(db: Reader, { projectId, conditions }: FeedbackQuery, source = emptySql): Sql {
  return sql`FROM feedback${source} WHERE ${allOf([sql`project_id = ${projectId}`, ...conditions, db.dialect.cancellable])}`
}

/** `selected` are the columns, named as the rows will have them. */
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

/** For one payload. The limit applies to the ASCII form that is sent; the stored form is never longer. */
export const maxPayloadBytes = 1 << 20

const ofCall = rawSql('feedback.project_id = calls.project_id AND feedback.call_id = calls.id')
const ofThread = rawSql('feedback.project_id = calls.project_id AND feedback.thread_id = calls.thread_id')

/** Whose feedback a query of calls reads: that of each call, or of its conversation. */
export type FeedbackSubject = 'call' | 'conversation'

/**
 * The payload that a calls query reads for a kind of feedback and a path: of the latest feedback with a value there.
 * Null means any kind. For use where a row of `calls` is in scope.
 */
export function payloadOf(
  dialect: Dialect,
  subject: FeedbackSubject,
  type: string | null,
  path: readonly string[],
): Sql {
  const kind = type === null ? rawSql('') : sql` AND feedback.feedback_type = ${type}`
  const { exists } = dialect.json(rawSql('feedback.payload'), path)
  const about = subject === 'call' ? ofCall : ofThread
  return sql`(SELECT feedback.payload FROM feedback WHERE ${about}${kind} AND ${exists}
    ORDER BY feedback.created_at DESC, feedback.id DESC LIMIT 1)`
}

/** Payload bytes shown in the record of one call: the record is one line of text, and a line must be bounded. */
const maxShownBytes = 16 * 1024 * 1024

/**
 * The feedback on a call, oldest first, as the elements of a JSON list, and how many were left out for size. The text
 * is assembled in the database, so that a large one is not read in the thread that serves HTTP.
 */
export function feedbackOfCall(dialect: Dialect): { list: Sql; leftOut: Sql } {
  const json = {
    text: (column: Sql) => dialect.quoted(column),
    time: (column: Sql) => dialect.ordered(sql`'"' || ${dialect.timeText(column)} || '"'`),
    json: (column: Sql) => dialect.stored(column, 'always'),
  }
  const members = shownFeedback
    .filter(({ name }) => name !== 'project_id')
    .map(({ name, column, kind }, index) => {
      const start = rawSql(`'${index > 0 ? ',' : '{'}"${name}":'`)
      return sql`${start} || ${json[kind](rawSql(column))}`
    })
  const text = sql`${join(members, ' || ')} || '}'`
  const size = dialect.bytes(rawSql('feedback.payload'))
  const sized = sql`(SELECT feedback.*, sum(${size}) OVER (ORDER BY feedback.created_at, feedback.id) AS sum_of_bytes
    FROM feedback WHERE ${ofCall}) AS said`
  const most = rawSql(String(maxShownBytes))
  return {
    list: sql`(SELECT string_agg(${text}, ',' ORDER BY created_at, id) FROM ${sized} WHERE sum_of_bytes <= ${most})`,
    leftOut: sql`(SELECT count(*) FROM ${sized} WHERE sum_of_bytes > ${most})`,
  }
}
