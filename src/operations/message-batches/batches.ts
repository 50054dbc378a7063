import type { FastifyRequest } from 'fastify'
import { type Caller, scopesOf } from '../../domain/callers.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import { formatTime, formatTimeOrNull, now } from '../../domain/time.ts'
import { type Batch, listBatches, messagesEndpoint } from '../../storage/batches/batches.ts'
import { fileOfProject } from '../../storage/batches/wire-files.ts'
import type { Database } from '../../storage/database.ts'
import { piecesOf } from '../../storage/objects/files.ts'
import type { Reader } from '../../storage/transaction.ts'
import { batchOf } from '../batches/batches.ts'
import type { MessageBatchesQuery } from './contract.ts'

/** Who asks, and at which address. */
type Asking = Pick<FastifyRequest, 'caller' | 'protocol' | 'host'>

const ofMessages = true

export const readMessageBatch = async (db: Reader, request: Asking, id: string) =>
  messageBatchAnswer(request, await batchOf(db, request.caller, id, ofMessages))

/** Pages go from the latest to the earliest, whichever end they begin at. */
export async function listMessageBatches(
  db: Reader,
  request: Asking,
  { after_id, before_id, limit }: MessageBatchesQuery,
) {
  if (after_id !== undefined && before_id !== undefined)
    throw wrong('before_id', 'given together with after_id', 'one of them')
  const { caller } = request
  const after = before_id ?? after_id
  const asked = { user: caller.name, scopes: scopesOf(caller), after, limit: limit + 1 }
  const order = before_id === undefined ? 'desc' : 'asc'
  const rows = await listBatches(db, { ...asked, order }, ofMessages)
  const page = rows.slice(0, limit)
  if (order === 'asc') page.reverse()
  return {
    data: page.map((batch) => messageBatchAnswer(request, batch)),
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: rows.length > limit,
  }
}

/** What is being asked is ended, and nothing more begins. */
export async function cancelMessageBatch(db: Database, request: Asking, id: string) {
  const { caller } = request
  await batchOf(db, caller, id, ofMessages)
  await db.write('cancelBatch', { user: caller.name, id, now: now() })
  const batch = await batchOf(db, caller, id, ofMessages)
  if (batch.cancelling_at === null) throw wrongStatus(batch, 'one that is in_progress')
  return messageBatchAnswer(request, batch)
}

export async function deleteMessageBatch(db: Database, caller: Caller, id: string) {
  await endedBatch(db, caller, id)
  while (await db.write('dropMessageBatch', { user: caller.name, id }));
  return { id, type: 'message_batch_deleted' as const }
}

/** A line for each request. */
export async function resultsOf(db: Reader, caller: Caller, id: string) {
  const batch = await endedBatch(db, caller, id)
  const { project_id, output_file_id } = batch
  const isKept = output_file_id !== null && archivedAt(batch) === null
  const file = isKept ? await fileOfProject(db, project_id, output_file_id) : undefined
  if (file === undefined) throw wrongStatus(batch, 'one whose results are kept', 'archived')
  return { size: file.size, pieces: piecesOf(db, project_id, file.upload_id, file.size) }
}

async function endedBatch(db: Reader, caller: Caller, id: string): Promise<Batch> {
  const batch = await batchOf(db, caller, id, ofMessages)
  if (batch.ended_at === null) throw wrongStatus(batch, 'one that has ended')
  return batch
}

const wrongStatus = (batch: Batch, accepted: string, status: string = statusOf(batch)) =>
  refuse('message_batch_status', { id: batch.id, status, accepted })

function statusOf({ ended_at, cancelling_at }: Batch) {
  if (ended_at !== null) return 'ended'
  return cancelling_at === null ? 'in_progress' : 'canceling'
}

/** When the results were removed; null while they are kept. */
function archivedAt({ ended_at, output_seconds }: Batch): number | null {
  const time = (ended_at ?? Number.POSITIVE_INFINITY) + output_seconds * 1_000_000
  return time <= now() ? time : null
}

export function messageBatchAnswer({ protocol, host }: Pick<Asking, 'protocol' | 'host'>, batch: Batch) {
  const { id, created_at, expires_at, ended_at, cancelling_at } = batch
  const archived = archivedAt(batch)
  const server = host ? `${protocol}://${host}` : ''
  return {
    id,
    type: 'message_batch' as const,
    processing_status: statusOf(batch),
    request_counts: countsOf(batch),
    created_at: formatTime(created_at),
    expires_at: formatTime(expires_at),
    ended_at: formatTimeOrNull(ended_at),
    cancel_initiated_at: formatTimeOrNull(cancelling_at),
    archived_at: formatTimeOrNull(archived),
    results_url:
      ended_at === null || archived !== null || batch.output_file_id === null
        ? null
        : `${server}${messagesEndpoint}/batches/${id}/results`,
  }
}

/** As at Anthropic, none is counted as answered before the batch has ended. */
function countsOf({ ended_at, status, total, completed, failed }: Batch) {
  const isOver = ended_at !== null
  const rest = total - completed - failed
  return {
    processing: isOver ? 0 : total,
    succeeded: isOver ? completed : 0,
    errored: isOver ? failed + (status === 'failed' ? rest : 0) : 0,
    canceled: status === 'cancelled' ? rest : 0,
    expired: status === 'expired' ? rest : 0,
  }
}
