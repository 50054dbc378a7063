import { membersOf } from '../../../packages/json/index.ts'
import { readInBatches } from '../../domain/batches.ts'
import { type Maker, preferenceType } from '../../domain/queues/pairs.ts'
import { isLive } from '../calls/calls.ts'
import { requestedModel } from '../calls/fields.ts'
import { listOf, rawSql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader } from '../transaction.ts'
import type { QueueKey } from './queues.ts'

/** What somebody who has completed a pair said of its first call; the pair is that of the payload's `other`. */
export interface PairAnswer {
  id: string
  call_id: string
  other_call_id: string
  user_id: string
  payload: string
  /** 1 if it is a decision. */
  adjudicates: number
  adjudicated_by: string | null
}

/** In the order of the queue, of each item the newest first. */
export function streamPairAnswers(
  db: BoundReader,
  { project_id, queue_id }: QueueKey,
  limit: number,
): AsyncIterable<PairAnswer[]> {
  const statement = sql`SELECT item.id, item.call_id, item.other_call_id, feedback.user_id, feedback.payload,
      progress.adjudicates, item.adjudicated_by
    FROM annotation_queue_items AS item
    JOIN annotation_progress AS progress ON progress.project_id = item.project_id AND progress.item_id = item.id
      AND progress.state = 'completed'
    JOIN feedback ON feedback.project_id = item.project_id AND feedback.call_id = item.call_id
      AND feedback.queue_id = item.queue_id AND feedback.user_id = progress.annotator
      AND feedback.feedback_type = ${preferenceType}
      AND ${db.dialect.json(rawSql('feedback.payload'), ['other']).text} = item.other_call_id
    WHERE item.project_id = ${project_id} AND item.queue_id = ${queue_id} AND item.other_call_id IS NOT NULL
      AND ${db.dialect.cancellable}
    ORDER BY item.position, feedback.created_at DESC, feedback.id DESC LIMIT ${limit}`
  return db.stream<PairAnswer>(statement, { rows: 500 })
}

/** The model, op or prompt version of each call that is there and has one. */
export async function makersOf(
  db: BoundReader,
  project_id: string,
  { ids, by, now }: { ids: readonly string[]; by: Maker; now: number },
): Promise<Map<string, string>> {
  const { dialect } = db
  const promptField = (field: string) =>
    dialect.json(rawSql('calls.attributes'), ['heddle', 'prompt', field]).text
  const usage = by === 'model' ? dialect.token(rawSql('calls.summary'), ['usage']) : rawSql('NULL')
  const name = {
    model: () => requestedModel(dialect),
    op: () => rawSql('calls.op_name'),
    prompt: () => sql`(${promptField('id')} || ':' || ${promptField('version')})`,
  }[by]()
  const found = new Map<string, string>()
  const rows = await readInBatches(ids, 100, (some) => {
    const query = sql`SELECT id, ${usage} AS usage, ${name} AS name FROM calls
      WHERE project_id = ${project_id} AND id IN (${listOf(some)}) AND ${isLive(now)}`
    return allRows<{ id: string; usage: string | null; name: string | null }>(db, query)
  })
  for (const { id, usage, name } of rows) {
    const [used] = usage?.startsWith('{') ? membersOf(usage).keys() : []
    const own = used ?? name
    if (own != null) found.set(id, own.slice(0, maxNameLength))
  }
  return found
}

const maxNameLength = 2048
