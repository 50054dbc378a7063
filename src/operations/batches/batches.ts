import type { FastifyRequest } from 'fastify'
import { type Caller, hasAccess, scopesOf } from '../../domain/callers.ts'
import { JsonText } from '../../domain/json/text.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import { type Batch, batchOfUser, isOfMessages, listBatches } from '../../storage/batches/batches.ts'
import type { Database } from '../../storage/database.ts'
import type { Reader } from '../../storage/transaction.ts'
import { checkMetadata } from '../generation/checks.ts'
import { pageOfList } from '../list-pages.ts'
import { projectHeader, recordingTarget } from '../recording/target-headers.ts'
import { usualSeconds } from '../wire-files/contract.ts'
import { idWith, wireFile } from '../wire-files/files.ts'
import type { BatchesQuery, CreateBatchBody } from './contract.ts'

const microseconds = 1_000_000
export const windowSeconds = 86_400
const secondsOf = (time: number | null) => (time === null ? null : Math.floor(time / microseconds))

type Asking = Pick<FastifyRequest, 'caller' | 'keyHash' | 'headers'>

/** The batch belongs to the project of its input, and is asked with the key of the request. */
export async function createBatch(db: Database, { caller, keyHash, headers }: Asking, body: CreateBatchBody) {
  const { input_file_id, endpoint, metadata, output_expires_after } = body
  checkMetadata(metadata)
  if (keyHash === undefined) throw refuse('batch_needs_key')
  const file = await wireFile(db, caller, input_file_id, 'input_file_id')
  if (file.purpose !== 'batch')
    throw wrong('input_file_id', `a file with the purpose ${file.purpose}`, 'a file with the purpose batch')
  const { project } = recordingTarget(caller, headers)
  if (headers[projectHeader] !== undefined && project !== file.project_id)
    throw wrong(projectHeader, JSON.stringify(project), `the project of the file, ${file.project_id}`)
  const batch = newBatch({
    project_id: file.project_id,
    id: idWith('batch_'),
    user_name: caller.name,
    key_hash: keyHash,
    endpoint,
    input_file_id,
    metadata: metadata?.text ?? null,
    output_seconds: output_expires_after?.seconds ?? usualSeconds,
    total: 0,
  })
  await db.write('addBatch', batch)
  return batchAnswer(batch)
}

type Begun = 'project_id' | 'id' | 'user_name' | 'key_hash' | 'endpoint' | 'input_file_id' | 'metadata'

export function newBatch(begun: Pick<Batch, Begun | 'output_seconds' | 'total'>): Batch {
  const time = now()
  return {
    ...begun,
    status: 'validating',
    ...{ errors: null, model: null, completed: 0, failed: 0 },
    ...{ input_tokens: 0, cached_tokens: 0, output_tokens: 0, reasoning_tokens: 0 },
    ...{ output_file_id: null, error_file_id: null },
    created_at: time,
    expires_at: time + windowSeconds * microseconds,
    ...{ in_progress_at: null, finalizing_at: null, cancelling_at: null, ended_at: null },
    ...{ is_open: 1, held_by: null, held_until: 0, turn_at: 0 },
  }
}

/** The batch of the caller; to everybody else, and on the other wire, it does not exist. */
export async function batchOf(db: Reader, caller: Caller, id: string, ofMessages: boolean): Promise<Batch> {
  const batch = await batchOfUser(db, caller.name, id)
  if (batch !== undefined && hasAccess(caller, batch.project_id) && isOfMessages(batch) === ofMessages)
    return batch
  const field = ofMessages ? 'message_batch_id' : 'batch_id'
  throw refuse('batch_not_found', { field, id })
}

export const readOneBatch = async (db: Reader, caller: Caller, id: string) =>
  batchAnswer(await batchOf(db, caller, id, false))

export async function listOwnBatches(db: Reader, caller: Caller, { after, limit }: BatchesQuery) {
  const asked = { user: caller.name, scopes: scopesOf(caller), after, limit: limit + 1 }
  return pageOfList(await listBatches(db, { ...asked, order: 'desc' }, false), limit, batchAnswer)
}

/** What is being asked is ended, and nothing more begins. */
export async function cancelOneBatch(db: Database, caller: Caller, id: string) {
  await batchOf(db, caller, id, false)
  await db.write('cancelBatch', { user: caller.name, id, now: now() })
  const batch = await batchOf(db, caller, id, false)
  if (batch.cancelling_at === null) throw refuse('batch_ended', { id, status: batch.status })
  return batchAnswer(batch)
}

function batchAnswer(batch: Batch) {
  const { status, input_tokens, output_tokens } = batch
  const ended = secondsOf(batch.ended_at)
  const endedAs = (end: Batch['status']) => (status === end ? ended : null)
  return {
    id: batch.id,
    object: 'batch' as const,
    endpoint: batch.endpoint,
    input_file_id: batch.input_file_id,
    completion_window: '24h' as const,
    status,
    errors: batch.errors === null ? null : { object: 'list' as const, data: new JsonText(batch.errors) },
    model: batch.model,
    output_file_id: batch.output_file_id,
    error_file_id: batch.error_file_id,
    created_at: secondsOf(batch.created_at),
    in_progress_at: secondsOf(batch.in_progress_at),
    expires_at: secondsOf(batch.expires_at),
    finalizing_at: secondsOf(batch.finalizing_at),
    completed_at: endedAs('completed'),
    failed_at: endedAs('failed'),
    expired_at: endedAs('expired'),
    cancelling_at: secondsOf(batch.cancelling_at),
    cancelled_at: endedAs('cancelled'),
    request_counts: { total: batch.total, completed: batch.completed, failed: batch.failed },
    usage: {
      input_tokens,
      input_tokens_details: { cached_tokens: batch.cached_tokens },
      output_tokens,
      output_tokens_details: { reasoning_tokens: batch.reasoning_tokens },
      total_tokens: input_tokens + output_tokens,
    },
    metadata: batch.metadata === null ? null : new JsonText(batch.metadata),
  }
}
