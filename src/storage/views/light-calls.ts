import { inSteps } from '../../../packages/waiting/index.ts'
import type { EndFacts, StartFacts } from '../../domain/call-facts/facts.ts'
import { type CallRow, type CallsQuery, callsById, matchingCalls } from '../calls/calls.ts'
import { shownName } from '../calls/columns.ts'
import { callFields, statusOfCall } from '../calls/fields.ts'
import { type CallsView, largestQuery, narrowedQuery } from '../calls/queries.ts'
import type { Dialect } from '../sql/dialect.ts'
import { rowsInOrder } from '../sql/rows-in-order.ts'
import { join, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader, onlyRow } from '../transaction.ts'
import { type Examined, examinedOf } from './examined.ts'
import { addPreviewsOfTurns, type PreviewRow, previewColumns, previewsIn } from './previews.ts'

type Copied = 'id' | 'trace_id' | 'parent_id' | 'thread_id' | 'op_name' | 'display_name' | 'started_at'

/** A call without its large JSON. Times are microseconds. */
export interface LightCall
  extends Pick<CallRow, Copied | 'ended_at' | 'exception' | 'user_id' | 'storage_size'>,
    Pick<StartFacts, 'input_preview'>,
    Omit<EndFacts, 'status' | 'cache_read_tokens' | 'cache_creation_tokens'> {
  status: string
  /** JSON: the tokens that each model used, for computing the cost. Null if it is too large. */
  usage: string | null
  /** The JSON at each path, truncated. */
  values: (string | null)[]
}

/** The position of a call among those of its project. */
export interface CallPosition {
  startedAt: number
  id: string
}

export interface LightView extends CallsView {
  /** Only the calls after this one; the view must be in time order. */
  after?: CallPosition | undefined
  /** Paths of values inside the calls to show as well. */
  columns?: readonly string[] | undefined
  /** The newest calls that are looked at where no index knows which match; all if undefined. */
  examine?: Examined | undefined
}

/** The newest calls that were looked at: how many, and when the one behind them began. */
interface Looked {
  max: number
  since: number
}

/** Characters of an exception that a list shows. */
const maxExceptionLength = 200
/** Characters of a value that a list shows. */
const maxValueLength = 200
/** The largest summary in bytes that is opened to compute costs. */
const maxSummaryBytes = 64 * 1024

const shown = rawSql(
  `calls.id, trace_id, parent_id, thread_id, op_name, ${shownName} AS display_name, started_at, ended_at, user_id,
   start_bytes + end_bytes AS storage_size, coalesce(model, asked_model) AS model, input_tokens, output_tokens, first_token_us,
   substr(exception, 1, ${maxExceptionLength}) AS exception`,
)

/** Newest first by default. The view is validated before this resolves. */
export const readLightCalls = async (db: BoundReader, view: LightView, now: number): Promise<LightCall[]> =>
  (await readLightPage(db, view, now)).calls

/** The same, and what was looked at if not all calls. */
export async function readLightPage(
  db: BoundReader,
  view: LightView,
  now: number,
): Promise<{ calls: LightCall[]; looked?: Looked | undefined }> {
  const largest = view.after === undefined ? await largestQuery(db, view, now) : undefined
  const page = largest && (await readPage(db, view, largest, now))
  // Calls may have been deleted since sums were read.
  if (page !== undefined && page.length === view.limit) return { calls: page }
  const { query, looked } = await queryOf(db, view, now)
  return { calls: await readPage(db, view, query, now), looked }
}

async function readPage(
  db: BoundReader,
  { columns: paths = [] }: LightView,
  query: CallsQuery,
  now: number,
): Promise<LightCall[]> {
  const { dialect } = db
  const values = paths.map((path, index) => {
    const reading = callFields(dialect, 'columns')(path)
    if (reading.kind !== 'json') throw new Error('only values inside of calls are shown')
    const token = dialect.token(reading.column, reading.path)
    return sql`, substr(${token}, 1, ${rawSql(String(maxValueLength))}) AS ${rawSql(`value_${index}`)}`
  })
  const statement = rowsInOrder(dialect, {
    table: 'calls',
    columns: sql`${shown}, ${previewColumns(dialect)}, ${statusOfCall(dialect)} AS status, ${usageOfCall(dialect)} AS usage${join(values, '')}`,
    matching: matchingCalls(db, query, now),
    order: query.order,
    page: query,
    byId: callsById(query),
  })
  const calls: LightCall[] = []
  await inSteps(await allRows<Row>(db, statement), ({ inputs, output, ...row }) => {
    calls.push({
      ...row,
      ...previewsIn({ ...row, inputs, output }),
      values: paths.map((_, index) => row[`value_${index}`] ?? null),
    })
  })
  await addPreviewsOfTurns(db, query.projectId, calls, now)
  return calls
}

type Row = Omit<LightCall, 'values'> & PreviewRow & Record<`value_${number}`, string | null>

/** The tokens that each model used, for computing the cost of a call. Null if it is too large. */
export function usageOfCall(dialect: Dialect): Sql {
  const size = dialect.bytes(rawSql('summary'))
  return sql`CASE WHEN ${size} <= ${rawSql(String(maxSummaryBytes))} THEN ${dialect.token(rawSql('summary'), ['usage'])} END`
}

/** The number of calls in the view, counted up to `most`. */
export async function countLightCalls(
  db: BoundReader,
  view: LightView,
  most: number,
  now: number,
): Promise<{ count: number; looked?: Looked | undefined }> {
  const { query, looked } = await queryOf(db, { ...view, after: undefined, sort: [] }, now, view)
  const counted = sql`SELECT count(*) AS count FROM (SELECT 1 AS one ${matchingCalls(db, query, now)} LIMIT ${most}) AS found`
  return { count: (await onlyRow<{ count: number }>(db, counted)).count, looked }
}

/** What is looked at depends on the order that was asked for. */
async function queryOf(
  db: BoundReader,
  { after, examine, ...view }: LightView,
  now: number,
  asked: CallsView = view,
) {
  const sort = view.sort.length > 0 ? view.sort : [{ field: 'started_at', direction: 'desc' } as const]
  const narrowed = await narrowedQuery(db, { ...view, sort }, now)
  const within = after === undefined ? [] : [behind(after, sort[0]?.direction)]
  const looked = await examinedOf(db, asked, narrowed, examine, now, within)
  if (looked !== undefined) within.push(sql`calls.started_at > ${looked.since}`)
  return { query: { ...narrowed, conditions: [...narrowed.conditions, ...within] }, looked }
}

function behind({ startedAt, id }: CallPosition, direction: 'asc' | 'desc' | undefined): Sql {
  return sql`(calls.started_at, calls.id) ${rawSql(direction === 'asc' ? '>' : '<')} (${startedAt}, ${id})`
}

/** How often something was said about a call. */
interface FeedbackCount {
  call_id: string
  feedback_type: string
  emoji: string | null
  count: number
}

/** Kinds of feedback that are counted separately for one page. */
const maxKinds = 5_000

export function countFeedbackOf(
  db: BoundReader,
  project: string,
  calls: readonly string[],
): Promise<FeedbackCount[]> {
  const emoji = db.dialect.json(rawSql('payload'), ['emoji']).text
  const shown = sql`SELECT call_id, feedback_type, CASE WHEN feedback_type = 'wandb.reaction.1' THEN ${emoji} END AS emoji
    FROM feedback WHERE project_id = ${project} AND call_id IN (${listOf(calls)}) AND ${db.dialect.cancellable}`
  return allRows<FeedbackCount>(
    db,
    sql`SELECT call_id, feedback_type, emoji, count(*) AS count FROM (${shown}) AS said
        GROUP BY call_id, feedback_type, emoji ORDER BY call_id, feedback_type, emoji LIMIT ${maxKinds}`,
  )
}
