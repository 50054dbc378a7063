import { type Caller, requireAccess } from '../../domain/callers.ts'
import { idsNamed } from '../../domain/expressions/ids-named.ts'
import { parseExpressionText } from '../../domain/expressions/parse.ts'
import { checkPath } from '../../domain/expressions/path.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import { formatTime } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import type { Dialect } from '../../storage/sql/dialect.ts'
import {
  compileCondition,
  compileSorting,
  type FieldReading,
  firstOfEach,
  type Sorting,
} from '../../storage/sql/expressions.ts'
import { type Sql, sql, trusted } from '../../storage/sql/sql.ts'
import { countFeedback, type FeedbackQuery, selectFeedback } from '../../storage/tables/feedback.ts'
import type { PurgeBody, QueryBody } from './contract.ts'
import { columnOf, feedbackFields, payloadPathOf, unknownField, wireColumns } from './fields.ts'

const counted = 'count(*)'

export interface FoundFeedback {
  /** Each as JSON; the list may be long, and is read as it is sent. */
  records: AsyncIterable<string>
  total: number
}

export async function queryFeedback(
  db: Database,
  caller: Caller,
  body: QueryBody,
  signal: AbortSignal,
): Promise<FoundFeedback> {
  requireAccess(caller, body.project_id)
  const shown = shownOf(body.fields, db.dialect)
  const query: FeedbackQuery = {
    projectId: body.project_id,
    conditions: body.query
      ? [compileCondition(parseExpressionText(body.query.text), feedbackFields('query'), db.dialect)]
      : [],
    ...orderOf(body.sort_by ?? [], db.dialect),
    limit: body.limit ?? null,
    offset: body.offset ?? 0,
  }
  const total = await countOf(db, query, signal)
  if (shown === counted) return { records: only(JSON.stringify({ [counted]: total })), total }
  const statement = selectFeedback(
    db,
    query,
    shown.map(({ column }) => column),
  )
  return { records: records(db, statement, shown, signal), total }
}

async function countOf(db: Database, query: FeedbackQuery, signal: AbortSignal): Promise<number> {
  for await (const [row] of db.stream<{ count: number }>(countFeedback(db, query), { signal })) {
    return row?.count ?? 0
  }
  throw new Error('a count answers one row')
}

async function* records(db: Database, statement: Sql, shown: readonly Shown[], signal: AbortSignal) {
  for await (const rows of db.stream<Record<string, unknown>>(statement, { signal })) {
    for (const row of rows) {
      yield writeJson(Object.fromEntries(shown.map(({ name, read }, i) => [name, read(row[`c${i}`])])))
    }
  }
}

async function* only(text: string) {
  yield text
}

/** A member of the records that come back: where it is read, and what the value becomes. */
interface Shown {
  name: string
  column: Sql
  read(value: unknown): unknown
}

function shownOf(fields: QueryBody['fields'], dialect: Dialect): Shown[] | typeof counted {
  const names = fields?.length ? [...new Set(fields)] : Object.keys(wireColumns)
  if (names.includes(counted)) {
    if (names.length === 1) return counted
    throw refuse('invalid_value', {
      field: 'fields',
      given: `count(*) beside ${names.length - 1} other fields`,
      accepted: 'count(*) alone',
    })
  }
  return names.map((name, index) => {
    const place = `fields.${fields?.indexOf(name)}`
    checkPath(name, place)
    const { column, read } = memberOf(name, place, dialect)
    return { name, column: sql`${column} AS ${trusted(`c${index}`)}`, read }
  })
}

function memberOf(name: string, place: string, dialect: Dialect): Pick<Shown, 'column' | 'read'> {
  const path = payloadPathOf(name)
  if (path?.length) {
    return { column: dialect.json(trusted('payload'), path).text, read: (value) => value }
  }
  const column = columnOf(name)
  if (column === undefined) throw unknownField(place, name, counted)
  if (column === 'payload') return { column: trusted(column), read: (value) => new JsonText(value as string) }
  if (column === 'created_at')
    return { column: trusted(column), read: (value) => formatTime(value as number) }
  return { column: trusted(column), read: (value) => value }
}

/** The id decides between equals, so that pages fit together. */
function orderOf(sortBy: NonNullable<QueryBody['sort_by']>, dialect: Dialect): Sorting {
  const readings = new Map<string, FieldReading>()
  for (const [index, { field }] of sortBy.entries()) {
    const place = `sort_by.${index}.field`
    checkPath(field, place)
    readings.set(field, feedbackFields(place)(field))
  }
  const sorts = firstOfEach(sortBy).map(({ field, direction }) => ({
    reading: readings.get(field) as FieldReading,
    direction,
  }))
  if (sorts.length === 0) return { order: [trusted('created_at'), trusted('id')] }
  const sorting = compileSorting(sorts, dialect)
  return { ...sorting, order: [...sorting.order, trusted('id')] }
}

export async function purgeFeedback(
  db: Database,
  caller: Caller,
  { project_id, query }: PurgeBody,
): Promise<void> {
  requireAccess(caller, project_id)
  await db.write('removeFeedback', { project_id, ids: idsNamed(parseExpressionText(query.text)) })
}
