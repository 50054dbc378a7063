import type { FastifyReply, FastifyRequest } from 'fastify'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { openAiRefusalContracts } from '../../http/contracts.ts'
import { disconnectSignal, hasLeft } from '../../http/disconnect.ts'
import { asRefusal } from '../../http/errors.ts'
import { answerIdOf } from '../../http/request-ids.ts'
import type { CompletionKind } from '../../storage/answers/completions.ts'
import { budgetHeader } from '../budgets/spending.ts'
import { checkMetadata } from '../generation/checks.ts'
import type { GenerationRecord } from '../generation/observed.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { matchesHeader } from '../recording/named-calls.ts'
import { recordingTarget } from '../recording/target-headers.ts'
import type { PoolingFields } from './fields.ts'
import type { PoolingContext } from './pooling.ts'

export const poolingRefusals = openAiRefusalContracts(
  'malformed_json',
  'model_not_found',
  'entity_forbidden',
  'body_too_large',
  'unsupported_media_type',
  'engine_queue_full',
  'record_refuses_writes',
  'upstream_failed',
  'upstream_timeout',
)

type RecordedFields = Pick<PoolingFields, 'request_id' | 'store' | 'metadata'>

/** An operation on a model that pools, from its body to its answer. */
export interface PoolingQuestion<Body, Made> {
  kind: CompletionKind
  /** The API of the client, if it is not the one of this kind. */
  wire?: string
  /** Of the id of its answer. */
  prefix: string
  make(services: GenerationParts, body: Body, asking: PoolingContext): Promise<Made>
  /** What the record keeps of the answer. */
  recorded(made: Made, id: string): object
  /** The parts of the answer that are not kept. */
  leftOut?: readonly string[]
  send(reply: FastifyReply, made: Made, id: string): Promise<FastifyReply> | object
}

export async function respondPooled<Body extends RecordedFields, Made>(
  services: GenerationParts,
  request: FastifyRequest & { body: Body },
  reply: FastifyReply,
  { kind, wire, prefix, make, recorded, leftOut, send }: PoolingQuestion<Body, Made>,
): Promise<object> {
  const { body, caller, log } = request
  const arrived = performance.now()
  const disconnect = disconnectSignal(reply)
  const id = prefix + answerIdOf(request, body.request_id)
  const { metadata } = body
  checkMetadata(metadata)
  const target = recordingTarget(caller, request.headers)
  const recording = await services.recorder.open(
    {
      caller,
      target,
      kind,
      wire,
      store: body.store,
      metadata,
      batched: request.batched,
      isStream: false,
      inputs: request.keptBody,
    },
    disconnect,
  )
  const proof = recording?.proof
  const refused = new AbortController()
  let measured: GenerationRecord | undefined
  const asking: PoolingContext = {
    caller,
    arrived,
    traceparent: request.traceparent,
    signal: proof === undefined ? disconnect : AbortSignal.any([disconnect, refused.signal]),
    project: target.project,
    warn: (text) => reply.header(budgetHeader, text),
    recording,
    note(record) {
      measured = record
      request.modelAnswers?.push(record)
      log.info({ ...record, completion: id }, 'completion')
    },
  }
  try {
    const [made] = await Promise.all([make(services, body, asking), proof])
    if (recording !== undefined && measured !== undefined) {
      reply.header('x-heddle-call-id', recording.callId)
      if (recording.parentMatches > 1) reply.header(matchesHeader, recording.parentMatches)
      const output = new JsonText(writeJson(recorded(made, id)))
      recording.end({ completionId: id, output, measured, ...(leftOut && { leftOut }) })
    }
    return await send(reply, made, id)
  } catch (error) {
    refused.abort(error)
    // Recorded if anything was read, because the caller has been charged for it.
    if (measured === undefined) recording?.end()
    else {
      const exception = hasLeft(disconnect) ? 'client disconnected' : asRefusal(error, request).message
      recording?.end({ completionId: id, output: new JsonText('null'), exception, measured })
    }
    throw error
  }
}
