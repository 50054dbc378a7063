import type { FastifyRequest } from 'fastify'
import { createYieldToLoop } from '../../../packages/waiting/index.ts'
import { requireAccess } from '../../domain/callers.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import { messagesEndpoint, requireStorable } from '../../storage/batches/batches.ts'
import { messageBatchPurpose } from '../../storage/batches/wire-files.ts'
import type { Database } from '../../storage/database.ts'
import { newBatch, windowSeconds } from '../batches/batches.ts'
import { maxLineBytes } from '../batches/input.ts'
import { projectHeader, recordingTarget } from '../recording/target-headers.ts'
import { usualSeconds } from '../wire-files/contract.ts'
import { idWith, openWireFile } from '../wire-files/files.ts'
import { messageBatchAnswer } from './batches.ts'
import type { CreateMessageBatchBody } from './contract.ts'

/** The line of a request has its other members, too. */
const maxParamsBytes = maxLineBytes - 1024

type Asking = Pick<FastifyRequest, 'caller' | 'keyHash' | 'headers' | 'protocol' | 'host'>

/** Its requests become the input of a batch. They are asked with the key of the request. */
export async function createMessageBatch(
  db: Database,
  maxRequests: number,
  request: Asking,
  { requests }: CreateMessageBatchBody,
) {
  const { caller, keyHash, headers } = request
  if (keyHash === undefined) throw refuse('batch_needs_key')
  const { project } = recordingTarget(caller, headers)
  requireAccess(caller, project, projectHeader)
  if (requests.length > maxRequests)
    throw wrong('requests', `${requests.length} requests`, `at most ${maxRequests}`)
  await requireStorable(db, project)
  const input = openWireFile(db, { project, user: caller.name, limit: Number.POSITIVE_INFINITY })
  try {
    for await (const line of linesOf(requests)) await input.add(line)
    const id = idWith('msgbatch_')
    const file = { filename: `${id}.jsonl`, purpose: messageBatchPurpose, seconds: windowSeconds }
    let batch: ReturnType<typeof newBatch> | undefined
    await input.finish(file, async (written) => {
      batch = newBatch({
        project_id: project,
        id,
        user_name: caller.name,
        key_hash: keyHash,
        endpoint: messagesEndpoint,
        input_file_id: written.file.id,
        metadata: null,
        output_seconds: usualSeconds,
        total: requests.length,
      })
      await db.write('addMessageBatch', { batch, input: written })
    })
    return messageBatchAnswer(request, batch as ReturnType<typeof newBatch>)
  } catch (error) {
    // The sweep removes what this fails to remove.
    await Promise.allSettled([input.drop()])
    throw error
  }
}

/** Requests are written together: a step for each of many thousands would take longer than its work. */
const chunkLength = 64 * 1024

/** The lines of an input. Others run between its chunks. */
async function* linesOf(requests: CreateMessageBatchBody['requests']): AsyncGenerator<Buffer> {
  const yieldToLoop = createYieldToLoop()
  const known = new Map<string, number>()
  let chunk = ''
  for (const [index, { custom_id, params }] of requests.entries()) {
    const earlier = known.get(custom_id)
    if (earlier !== undefined)
      throw wrong(
        `requests.${index}.custom_id`,
        `${JSON.stringify(custom_id)}, as in requests.${earlier}`,
        'one that is unique in the batch',
      )
    known.set(custom_id, index)
    if (params.bytes > maxParamsBytes)
      throw wrong(`requests.${index}.params`, `${params.bytes} bytes`, `at most ${maxParamsBytes}`)
    const head = `{"custom_id":"${custom_id}","method":"POST","url":"${messagesEndpoint}","body":`
    chunk += `${head}${params.text}}\n`
    if (chunk.length < chunkLength) continue
    yield Buffer.from(chunk)
    chunk = ''
    const pause = yieldToLoop()
    if (pause) await pause
  }
  if (chunk !== '') yield Buffer.from(chunk)
}
