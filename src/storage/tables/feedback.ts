import { exactJson } from '../../domain/json/canonical.ts'
import { refuse } from '../../domain/refusals.ts'
import type { Page } from '../../domain/view.ts'
import { type Columns, namesOf, type RowOf } from '../sql/columns.ts'
import type { Dialect } from '../sql/dialect.ts'
import { insertInto } from '../sql/inserts.ts'
import type { Sorting } from '../sql/readings.ts'
import { rowsInOrder } from '../sql/rows-in-order.ts'
import { allOf, join, nothing, type Sql, sql, trusted } from '../sql/sql.ts'
import type { Command, Reader, Transaction } from '../transaction.ts'

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

const columns = namesOf(kinds)
const allColumns = trusted(columns.join(', '))

/** What makes two records the same one, sent twice. */
const contentColumns = columns.filter((name) => !['call_id', 'created_at', 'payload'].includes(name))

export interface NewFeedback {
  record: Feedback
  /** How a refusal names the id. */
  field: string
}

/** What is stored under the id: the record that was given, or the same one of an earlier request. */
export type KeptFeedback = Pick<Feedback, 'id' | 'created_at' | 'payload'>

/**
 * All or nothing. An id that is there already is the same record when its content is the same, so that a client may send
 * again what it got no answer for; other content is a conflict.
 */
export const addFeedback: Command<readonly NewFeedback[], KeptFeedback[]> = async (tx, given) => {
  const byKey = new Map<string, Feedback>()
  for (const { record, field } of given) {
    const first = byKey.get(keyOf(record))
    if (first === undefined) byKey.set(keyOf(record), record)
    else if (!isSame(first, record)) throw conflict(record, field, first)
  }
  // Two requests that add the same ids meet in the same order, so neither waits for the other's end.
  const records = [...byKey.keys()].sort().map((key) => byKey.get(key) as Feedback)
  const known = new Map<string, Feedback>()
  for (const record of await addNew(tx, records)) {
    const stored = await storedOrAdded(tx, record)
    if (stored !== undefined) known.set(keyOf(record), stored)
  }
  return given.map(({ record, field }) => {
    const stored = known.get(keyOf(record)) ?? (byKey.get(keyOf(record)) as Feedback)
    if (stored !== record && !isSame(stored, record)) throw conflict(record, field, stored)
    return { id: stored.id, created_at: stored.created_at, payload: stored.payload }
  })
}

export interface FeedbackReplacement extends NewFeedback {
  /** Goes when the new record comes. */
  replaced: string
}

export const replaceFeedback: Command<FeedbackReplacement, KeptFeedback[]> = async (tx, given) => {
  await remove(tx, given.record.project_id, given.replaced)
  return addFeedback(tx, [given])
}

export const removeFeedback: Command<{ project_id: string; ids: readonly string[] }, void> = async (
  tx,
  { project_id, ids },
) => {
  for (const id of ids) await remove(tx, project_id, id)
}

async function remove(tx: Transaction, projectId: string, id: string): Promise<void> {
  await tx.run(sql`DELETE FROM feedback WHERE project_id = ${projectId} AND id = ${id}`)
}

const insertFeedback = insertInto(
  'feedback',
  columns,
  'ON CONFLICT (project_id, id) DO NOTHING RETURNING project_id, id',
)

/** Answers the records whose id was there already. */
async function addNew(tx: Transaction, records: readonly Feedback[]): Promise<Feedback[]> {
  const left = new Map(records.map((record) => [keyOf(record), record]))
  const rows = records.map((record) => columns.map((column) => record[column]))
  for (const statement of insertFeedback(rows)) {
    const added = await tx.all<Pick<Feedback, 'project_id' | 'id'>>(statement)
    for (const one of added) left.delete(keyOf(one))
  }
  return [...left.values()]
}

/** What stands in the way of a record; undefined when it went away meanwhile and the record is in its place now. */
async function storedOrAdded(tx: Transaction, record: Feedback): Promise<Feedback | undefined> {
  for (;;) {
    const stored = await tx.get<Feedback>(
      sql`SELECT ${allColumns} FROM feedback WHERE project_id = ${record.project_id} AND id = ${record.id}`,
    )
    if (stored !== undefined) return stored
    if ((await addNew(tx, [record])).length === 0) return undefined
  }
}

function keyOf({ project_id, id }: Pick<Feedback, 'project_id' | 'id'>): string {
  return `${project_id} ${id}`
}

function isSame(one: Feedback, other: Feedback): boolean {
  if (contentColumns.some((column) => one[column] !== other[column])) return false
  return one.payload === other.payload || exactJson(one.payload) === exactJson(other.payload)
}

/** Whoever may write to the project may read who said what in it, so the user is named. */
function conflict(record: Feedback, field: string, stored: Feedback) {
  const { id, project_id, user_id } = record
  const values = { field, given: JSON.stringify(id), project: JSON.stringify(project_id) }
  const isOthers = stored.user_id !== user_id && isSame({ ...stored, user_id }, record)
  if (!isOthers) return refuse('feedback_conflict', values)
  return refuse('feedback_of_other_user', { ...values, user: JSON.stringify(stored.user_id) })
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
    payload: dialect.stored(trusted('payload')),
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
