import { inSteps } from '../../../packages/waiting/index.ts'
import { byCaller, type Caller, requireAccess } from '../../domain/callers.ts'
import { idsNamed, textsOf, withOtherNames } from '../../domain/expressions/named-texts.ts'
import { parseExpressionText } from '../../domain/expressions/parse.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { wrong } from '../../domain/refusals.ts'
import { formatTime } from '../../domain/time.ts'
import { type View, viewOf } from '../../domain/view.ts'
import type { Database } from '../../storage/database.ts'
import { readFeedback } from '../../storage/feedback/feedback.ts'
import { columnText, isPayloadColumn } from '../../storage/feedback/payload-columns.ts'
import { type FoundFeedback, feedbackInView } from '../../storage/feedback/queries.ts'
import { feedbackOwner, requireUnsettled, seesQueuesOnly } from '../queues/annotator-view.ts'
import type { CallNames } from '../recording/named-calls.ts'
import type { PurgeBody, QueryBody } from './contract.ts'
import { judgedIn } from './judged-columns.ts'

const counted = 'count(*)'

interface FeedbackAnswer {
  /** Each as JSON. The list may be long and is read as it is sent. */
  records: AsyncIterable<string>
  /** Right when the list has been read. */
  totals: { total_count: number }
}

export async function queryFeedback(
  { db, names }: { db: Database; names: CallNames },
  caller: Caller,
  body: QueryBody,
  signal: AbortSignal,
): Promise<FeedbackAnswer> {
  requireAccess(caller, body.project_id)
  const fields = body.fields ?? []
  const isCount = fields.includes(counted)
  const others = new Set(fields).size - 1
  if (isCount && others > 0) {
    const received = `count(*) with ${others} other fields`
    throw wrong('fields', received, 'count(*) alone')
  }
  const view = await withCallIds(names, viewOf(body))
  const found = feedbackInView(db, view, isCount ? [] : fields, seesQueuesOnly(caller, body.project_id))
  const total_count = await found.total(signal)
  const totals = { total_count }
  const records = isCount
    ? only(JSON.stringify({ [counted]: total_count }))
    : recordsOf(found, fields.length === 0, signal)
  return { records: counting(records), totals }

  /** Feedback may come and go between the count and the list. */
  async function* counting(texts: AsyncIterable<string>) {
    let read = 0
    for await (const text of texts) {
      read++
      yield text
    }
    if (isCount || view.limit === 0) return
    const last = view.offset + read
    if (read === 0) totals.total_count = Math.min(last, total_count)
    else totals.total_count = read === view.limit ? Math.max(last, total_count) : last
  }
}

const refFields = new Set(['svc_ref', 'weave_ref', 'call_ref'])

/** Feedback refers to a call by the call's own id, unless its completion was not known when the feedback came. */
async function withCallIds(names: CallNames, view: View): Promise<View> {
  if (view.query === undefined) return view
  const others = new Map<string, string>()
  await inSteps(textsOf(view.query, refFields), async (text) => {
    const ref = await names.ref(view.project, text)
    if (ref !== text) others.set(text, ref)
  })
  return others.size > 0 ? { ...view, query: withOtherNames(view.query, refFields, others) } : view
}

async function* recordsOf(found: FoundFeedback, isWhole: boolean, signal: AbortSignal) {
  for await (const rows of found.rows(signal)) {
    for (const row of rows) {
      const judged = row.flatMap(([name, value]) =>
        isWhole && name === 'payload' ? judgedIn(value as string) : [],
      )
      const named = row.map(([name, value]): [string, unknown] => [name, shown(name, value)])
      yield writeJson(Object.fromEntries([...named, ...judged]))
    }
  }
}

function shown(name: string, value: unknown): unknown {
  if (isPayloadColumn(name)) return new JsonText(columnText(name, value as string | null))
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
  const of = feedbackOwner(caller, project_id)
  await inSteps(of === null ? [] : ids, async (id) => {
    const answer = await readFeedback(db, project_id, id)
    if (answer) await requireUnsettled(db, caller, answer, 'query')
  })
  await db.write('removeFeedback', {
    project_id,
    ids,
    of,
    by: byCaller(caller),
  })
}
