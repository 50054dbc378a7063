import { refuse } from '../../domain/refusals.ts'
import { projectLock, requireUnredacted } from '../projects/projects.ts'
import { rawSql, type Sql, sql } from '../sql/sql.ts'
import { type RowIn, tableOf } from '../sql/table.ts'
import { type Command, countOf, type Reader } from '../transaction.ts'
import { fileOfProject, keepWireFile, type NewWireFile, pageOf, type WirePage } from './wire-files.ts'

const batches = tableOf('batches', {
  project_id: 'text',
  id: 'text',
  user_name: 'text',
  key_hash: 'text',
  endpoint: 'text',
  input_file_id: 'text',
  metadata: 'json?',
  output_seconds: 'number',
  status: 'text',
  errors: 'json?',
  model: 'text?',
  total: 'number',
  completed: 'number',
  failed: 'number',
  input_tokens: 'number',
  cached_tokens: 'number',
  output_tokens: 'number',
  reasoning_tokens: 'number',
  output_file_id: 'text?',
  error_file_id: 'text?',
  created_at: 'time',
  in_progress_at: 'time?',
  expires_at: 'time',
  finalizing_at: 'time?',
  cancelling_at: 'time?',
  ended_at: 'time?',
  is_open: 'number',
  held_by: 'text?',
  held_until: 'time',
  turn_at: 'time',
})

export type BatchStatus =
  | 'validating'
  | 'failed'
  | 'in_progress'
  | 'finalizing'
  | 'completed'
  | 'expired'
  | 'cancelling'
  | 'cancelled'

export interface Batch extends RowIn<typeof batches> {
  status: BatchStatus
}

export interface BatchKey {
  project_id: string
  id: string
}

/** Where the lines of Anthropic's batches are asked, and those of no other batch. */
export const messagesEndpoint = '/v1/messages'
export const isOfMessages = ({ endpoint }: Pick<Batch, 'endpoint'>): boolean => endpoint === messagesEndpoint

/** A batch that a process works on. What another process has taken over is left alone. */
export interface HeldBatch extends BatchKey {
  holder: string
}

const lockOfAll = 'batches'

/** Of a user, so that nobody fills the record with work. */
const maxOpenBatches = 100

export const of = ({ project_id, id }: BatchKey): Sql => sql`project_id = ${project_id} AND id = ${id}`
export const heldBy = (held: HeldBatch): Sql => sql`${of(held)} AND held_by = ${held.holder}`

export const readBatch = (db: Reader, key: BatchKey): Promise<Batch | undefined> => batches.get(db, of(key))

/** Its user was not removed: a later one of the same name has nothing of it. */
const isOwned = sql`expires_at > 0`

export const batchOfUser = (db: Reader, user: string, id: string): Promise<Batch | undefined> =>
  batches.get(db, sql`user_name = ${user} AND id = ${id} AND ${isOwned}`)

/** Those of one wire: of Anthropic's or of OpenAI's. */
export const listBatches = (db: Reader, { user, ...page }: WirePage, ofMessages: boolean): Promise<Batch[]> =>
  batches.all(
    db,
    sql`user_name = ${user} AND ${isOwned} AND endpoint ${rawSql(ofMessages ? '=' : '<>')} ${messagesEndpoint}
          AND ${pageOf(page)}`,
  )

export const addBatch: Command<Batch, void> = async (tx, batch) => {
  await tx.lock(lockOfAll)
  const open = sql`batches WHERE user_name = ${batch.user_name} AND ended_at IS NULL`
  if ((await countOf(tx, open)) >= maxOpenBatches) throw refuse('too_many_batches', { limit: maxOpenBatches })
  if ((await fileOfProject(tx, batch.project_id, batch.input_file_id)) === undefined)
    throw refuse('wire_file_not_found', { field: 'input_file_id', id: batch.input_file_id })
  await batches.insert(tx, [batch])
}

export const requireStorable = (db: Reader, project: string): Promise<void> =>
  requireUnredacted(
    db,
    [project],
    [
      'requests',
      'given, but the project replaces private texts before they are stored',
      'a request for each message, or another project',
    ],
  )

/** A batch and its requests, which appear together. */
export const addMessageBatch: Command<{ batch: Batch; input: NewWireFile }, void> = async (
  tx,
  { batch, input },
) => {
  // It may have been set while the requests were sent.
  await tx.lockShared(projectLock(batch.project_id))
  await requireStorable(tx, batch.project_id)
  await keepWireFile(tx, input)
  await addBatch(tx, batch)
}

/** A server without a model only begins and ends batches: another one may have models. */
const isDue = (now: number, mayAsk: boolean): Sql =>
  mayAsk
    ? sql`is_open = 1 AND held_until <= ${now}`
    : sql`is_open = 1 AND held_until <= ${now} AND (status <> 'in_progress' OR expires_at <= ${now})`

export const hasDueBatch = async (db: Reader, now: number, mayAsk: boolean): Promise<boolean> =>
  (await db.get(sql`SELECT 1 AS one FROM batches WHERE ${isDue(now, mayAsk)} LIMIT 1`)) !== undefined

interface Turn {
  holder: string
  now: number
  until: number
  mayAsk: boolean
}

/** Of the user who waits longest, the batch that waits longest and that no other process works on. */
export const takeBatch: Command<Turn, Batch | undefined> = async (tx, { holder, now, until, mayAsk }) => {
  await tx.lock(lockOfAll)
  const batch = await batches.get<Batch>(
    tx,
    sql`${isDue(now, mayAsk)} ORDER BY
      (SELECT max(turn_at) FROM batches AS own WHERE own.user_name = batches.user_name AND own.is_open = 1),
      turn_at, id LIMIT 1`,
  )
  if (batch === undefined) return undefined
  await tx.run(
    sql`UPDATE batches SET held_by = ${holder}, held_until = ${until}, turn_at = ${now} WHERE ${of(batch)}`,
  )
  return batch
}

/** False if it is no longer held by this process. */
export const holdBatch: Command<HeldBatch & { until: number }, boolean> = async (tx, { until, ...held }) =>
  (await tx.run(sql`UPDATE batches SET held_until = ${until} WHERE ${heldBy(held)}`)) > 0

/** The batch rests until then; 0 lets it go on at once. */
export const releaseBatch: Command<HeldBatch & { until: number }, void> = async (tx, { until, ...held }) => {
  await tx.run(sql`UPDATE batches SET held_until = ${until}, held_by = NULL WHERE ${heldBy(held)}`)
}

/** Its lines are valid. False if it was cancelled meanwhile; a batch of messages is cancelled only now. */
export const startBatch: Command<HeldBatch & { total: number; now: number }, boolean> = async (
  tx,
  { total, now, ...held },
) =>
  (await tx.run(
    sql`UPDATE batches SET status = CASE WHEN cancelling_at IS NULL THEN 'in_progress' ELSE 'cancelling' END,
          total = ${total}, in_progress_at = ${now}
        WHERE ${heldBy(held)} AND status = 'validating'`,
  )) > 0

/** Its lines are not valid: nothing of it was run. */
export const failBatch: Command<HeldBatch & { total: number; errors: string; now: number }, void> = async (
  tx,
  { total, errors, now, ...held },
) => {
  await tx.run(
    sql`UPDATE batches SET status = 'failed', errors = ${errors}, total = ${total}, ended_at = ${now}
        WHERE ${heldBy(held)} AND status = 'validating'`,
  )
}

/** A batch that is being cancelled stays so until its files are written. */
export const finalizeBatch: Command<HeldBatch & { now: number }, void> = async (tx, { now, ...held }) => {
  await tx.run(
    sql`UPDATE batches SET status = 'finalizing', finalizing_at = ${now}
        WHERE ${heldBy(held)} AND status IN ('validating', 'in_progress')`,
  )
}

interface FinishedBatch extends HeldBatch {
  status: 'completed' | 'expired' | 'cancelled'
  output: NewWireFile | null
  error: NewWireFile | null
  now: number
}

/** Its files appear together with its end. False if another process has taken it over. */
export const finishBatch: Command<FinishedBatch, boolean> = async (
  tx,
  { status, output, error, now, ...held },
) => {
  const changed = await tx.run(
    sql`UPDATE batches SET status = ${status}, ended_at = ${now}, output_file_id = ${output?.file.id ?? null},
          error_file_id = ${error?.file.id ?? null} WHERE ${heldBy(held)} AND ended_at IS NULL`,
  )
  if (changed === 0) return false
  const isOver = (await tx.get(sql`SELECT id FROM batches WHERE ${of(held)} AND ${isOwned}`)) === undefined
  for (const written of [output, error]) {
    if (written === null) continue
    const file = isOver ? { ...written.file, expires_at: 0 } : written.file
    await keepWireFile(tx, { ...written, file })
  }
  return true
}

/**
 * No further line begins. A batch that is over is left as it is. A batch that rests goes on at once, to its end. The
 * results of a batch of messages name every request, so its lines are found first. On its wire there is nothing between
 * being asked and having ended: what is asked then is kept, and changes no result.
 */
export const cancelBatch: Command<{ user: string; id: string; now: number }, void> = async (
  tx,
  { user, id, now },
) => {
  const ofMessages = sql`endpoint = ${messagesEndpoint}`
  await tx.run(
    sql`UPDATE batches SET cancelling_at = coalesce(cancelling_at, ${now}),
          status = CASE WHEN status IN ('validating', 'finalizing') AND ${ofMessages} THEN status ELSE 'cancelling' END,
          held_until = CASE WHEN held_by IS NULL THEN 0 ELSE held_until END
        WHERE user_name = ${user} AND id = ${id}
          AND (status IN ('validating', 'in_progress') OR (status = 'finalizing' AND ${ofMessages}))`,
  )
}
