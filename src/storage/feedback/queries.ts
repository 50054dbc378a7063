import { checkPath, splitPath } from '../../domain/expressions/path.ts'
import { type Refusal, refuse } from '../../domain/refusals.ts'
import type { View } from '../../domain/view.ts'
import { isLive } from '../calls/calls.ts'
import { isQueued } from '../queues/queued.ts'
import { compileCondition } from '../sql/conditions.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { FieldResolver } from '../sql/readings.ts'
import { sortingOf } from '../sql/sorting.ts'
import { emptySql, rawSql, type Sql, sql, wantedIds } from '../sql/sql.ts'
import { type BoundReader, boundTo, type LongReader, onlyRow } from '../transaction.ts'
import {
  countFeedback,
  type Feedback,
  type FeedbackQuery,
  selectFeedback,
  shownFeedback,
} from './feedback.ts'
import { isPayloadColumn, payloadColumns } from './payload-columns.ts'

/** The columns by every name that they have. */
const columns = new Map(shownFeedback.flatMap((shown) => shown.names.map((name) => [name, shown])))

/** A record as pairs of field name and value: `payload` is JSON, times are microseconds. */
type FeedbackFields = [name: string, value: unknown][]

export type FoundFeedback = ReturnType<typeof feedbackInView>

/**
 * The feedback of the view, with these fields; no fields means all. `ofQueued`: only what is about calls in queues.
 * Everything is validated before this returns.
 */
export function feedbackInView(db: LongReader, view: View, fields: readonly string[], ofQueued = false) {
  const names = fields.length > 0 ? [...new Set(fields)] : [...columns.keys()]
  const selected = names.map((name, index) => {
    const column = shownColumn(name, `fields.${fields.indexOf(name)}`, db.dialect)
    return sql`${column} AS ${rawSql(`c${index}`)}`
  })
  const found = queryOf(view, db.dialect)
  const query = ofQueued
    ? { ...found, conditions: [...found.conditions, isQueued(rawSql('feedback'))] }
    : found
  return {
    /** The total, before limit and offset. */
    total: async (signal: AbortSignal): Promise<number> =>
      (await onlyRow<{ count: number }>(boundTo(db, signal), countFeedback(db, query))).count,
    async *rows(signal: AbortSignal): AsyncGenerator<FeedbackFields[]> {
      const statement = selectFeedback(db, query, selected)
      for await (const rows of db.stream<Record<string, unknown>>(statement, { signal })) {
        yield rows.map((row): FeedbackFields => names.map((name, index) => [name, row[`c${index}`]]))
      }
    },
  }
}

function shownColumn(name: string, requestPath: string, dialect: Dialect): Sql {
  checkPath(name, requestPath)
  if (isPayloadColumn(name)) return dialect.token(rawSql('payload'), [name])
  const path = payloadPath(name)
  if (path?.length) return dialect.json(rawSql('payload'), path).text
  const shown = columns.get(name)
  if (shown === undefined) throw unknownField(requestPath, name, 'count(*)')
  const column = rawSql(shown.column)
  return path === undefined ? column : dialect.stored(column, 'always')
}

/** What the query of a view asks of a row. */
export const feedbackConditions = ({ query }: Pick<View, 'query'>, dialect: Dialect): Sql[] =>
  query ? [compileCondition(query, feedbackFields('query'), dialect)] : []

/** Oldest first by default; the id breaks ties, so that pages neither overlap nor skip. */
function queryOf({ project, query, sort, limit, offset }: View, dialect: Dialect): FeedbackQuery {
  const conditions = feedbackConditions({ query }, dialect)
  const sorting = sortingOf(sort, feedbackFields, dialect)
  const start = sort.length === 0 ? [rawSql('created_at')] : sorting.order
  return { projectId: project, conditions, ...sorting, order: [...start, rawSql('id')], limit, offset }
}

/** `requestPath` is how a refusal names where the field was given. */
export function feedbackFields(requestPath: string): FieldResolver {
  return (field) => {
    checkPath(field, requestPath)
    const path = payloadPath(field)
    const shown = columns.get(path ? 'payload' : field)
    if (shown === undefined) throw unknownField(requestPath, field)
    const column = rawSql(shown.column)
    if (shown.kind === 'json') return { kind: 'json', column, path: path ?? [] }
    return { kind: shown.kind, sql: column, isAlways: !shown.isOptional }
  }
}

/** The steps inside the payload; undefined if the field is not there. */
function payloadPath(field: string): string[] | undefined {
  const [document = '', ...path] = splitPath(field)
  if (isPayloadColumn(document)) return [document, ...path]
  return document === 'payload' ? path : undefined
}

function unknownField(requestPath: string, field: string, ...others: string[]): Refusal {
  const accepted = [
    ...shownFeedback.map(({ name }) => name),
    ...Object.keys(payloadColumns),
    'payload.…',
    ...others,
  ].join(', ')
  return refuse('unknown_field', { field: requestPath, received: JSON.stringify(field), accepted })
}

type CallFeedback = Pick<Feedback, 'user_id' | 'payload' | 'runnable_ref'> & {
  call_id: string
  /** Of what was given in a queue: `decision` of an adjudicator; `none` before that, or of an item that was skipped. */
  standing: 'decision' | 'none' | null
}

const standing = sql`(SELECT CASE WHEN progress.adjudicates = 1 AND progress.state = 'completed' THEN 'decision'
    WHEN progress.adjudicates = 1 OR progress.state = 'skipped' THEN 'none' END
  FROM annotation_queue_items AS item
  JOIN annotation_progress AS progress ON progress.project_id = item.project_id AND progress.item_id = item.id
  WHERE item.project_id = feedback.project_id AND item.queue_id = feedback.queue_id AND item.call_id = feedback.call_id
    AND item.other_call_id IS NULL AND progress.annotator = feedback.user_id)`

/** The latest feedback of one type on calls, the newest first. */
export function streamFeedbackOfType(
  db: BoundReader,
  { project, type, limit }: { project: string; type: string; limit: number },
): AsyncIterable<CallFeedback[]> {
  const statement = sql`SELECT call_id, user_id, payload, runnable_ref, ${standing} AS standing FROM feedback
    WHERE project_id = ${project} AND feedback_type = ${type} AND call_id IS NOT NULL AND ${db.dialect.cancellable}
    ORDER BY created_at DESC, id DESC LIMIT ${limit}`
  return db.stream<CallFeedback>(statement, { rows: 500 })
}

/** Of calls: what those that are alike share, which is their thread, else the first whose texts are as long and begin alike. */
export function streamKin(db: BoundReader, project: string, calls: readonly string[]) {
  return db.stream<{ id: string; kin: string }>(
    sql`${wantedIds(calls)} SELECT calls.id, coalesce(nullif(thread_id, ''), min(calls.id) OVER (PARTITION BY
        octet_length(inputs), substr(inputs, 1, 4000), octet_length(output), substr(output, 1, 4000))) AS kin
      FROM wanted CROSS JOIN calls WHERE project_id = ${project} AND calls.id = wanted.id AND ${db.dialect.cancellable}`,
    { rows: 500 },
  )
}

/** Feedback with the conversation that it is about. */
export interface SignalRow {
  /** Of the feedback, or of its call. */
  thread_id: string | null
  trace_id: string | null
  /** JSON. */
  payload: string
}

/** The largest payload in bytes that is opened. */
const maxPayloadBytes = '65536'

/** Feedback since a time, of which payloads may have tags or ratings. */
export function streamSignals(
  db: BoundReader,
  { project, from, limit }: { project: string; from: number | undefined; limit: number },
  now: number,
): AsyncIterable<SignalRow[]> {
  const isSmall = sql`${db.dialect.bytes(rawSql('payload'))} <= ${rawSql(maxPayloadBytes)}`
  return db.stream<SignalRow>(
    sql`SELECT coalesce(feedback.thread_id, nullif(calls.thread_id, '')) AS thread_id, calls.trace_id AS trace_id, payload
        FROM feedback LEFT JOIN calls ON calls.project_id = feedback.project_id AND calls.id = feedback.call_id
          AND ${isLive(now)}
        WHERE feedback.project_id = ${project} AND ${isSmall} AND ${db.dialect.cancellable}
          ${from === undefined ? emptySql : sql`AND feedback.created_at >= ${from}`}
        ORDER BY feedback.created_at, feedback.id LIMIT ${limit}`,
    { rows: 500 },
  )
}
