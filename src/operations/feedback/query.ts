import { byCaller, type Caller, requireAccess } from '../../domain/callers.ts'
import { idsNamed } from '../../domain/expressions/ids-named.ts'
import { parseExpressionText } from '../../domain/expressions/parse.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import { formatTime } from '../../domain/time.ts'
import { viewOf } from '../../domain/view.ts'
import type { Database } from '../../storage/database.ts'
import { type FoundFeedback, feedbackInView } from '../../storage/tables/feedback-queries.ts'
import type { PurgeBody, QueryBody } from './contract.ts'

const counted = 'count(*)'

export interface FeedbackAnswer {
  /** Each as JSON; the list may be long, and is read as it is sent. */
  records: AsyncIterable<string>
  total: number
}

export async function queryFeedback(
  db: Database,
  caller: Caller,
  body: QueryBody,
  signal: AbortSignal,
): Promise<FeedbackAnswer> {
  requireAccess(caller, body.project_id)
  const fields = body.fields ?? []
  const isCount = fields.includes(counted)
  const others = new Set(fields).size - 1
  if (isCount && others > 0) {
    const given = `count(*) beside ${others} other fields`
    throw refuse('invalid_value', { field: 'fields', given, accepted: 'count(*) alone' })
  }
  const found = feedbackInView(db, viewOf(body), isCount ? [] : fields)
  const total = await found.total(signal)
  return { records: isCount ? only(JSON.stringify({ [counted]: total })) : recordsOf(found, signal), total }
}

async function* recordsOf(found: FoundFeedback, signal: AbortSignal) {
  for await (const rows of found.rows(signal)) {
    for (const row of rows) {
      yield writeJson(Object.fromEntries(row.map(([name, value]) => [name, shown(name, value)])))
    }
  }
}

function shown(name: string, value: unknown): unknown {
  if (name === 'payload') return new JsonText(value as string)
  return name === 'created_at' ? formatTime(value as number) : value
}

async function* only(text: string) {
  yield text
}

export async function purgeFeedback(
  db: Database,
  caller: Caller,
  { project_id, query }: PurgeBody,
): Promise<void> {
  requireAccess(caller, project_id)
  const ids = idsNamed(parseExpressionText(query.text))
  await db.write('removeFeedback', { project_id, ids, by: byCaller(caller) })
}
