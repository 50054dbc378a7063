import type { FastifyReply, FastifyRequest } from 'fastify'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { headerOf } from '../../http/answer-headers/header-list.ts'
import { addIgnored } from '../../http/answer-headers/ignored-fields.ts'
import { openAiRefusalContracts } from '../../http/contracts.ts'
import { disconnectSignal, hasLeft } from '../../http/disconnect.ts'
import { asRefusal } from '../../http/errors.ts'
import type { BodyExclusions } from '../../http/read-body.ts'
import { answerIdOf } from '../../http/request-ids.ts'
import { type EventForm, sendEvents } from '../../http/streams/sse.ts'
import type { CompletionKind } from '../../storage/answers/completions.ts'
import { budgetHeader } from '../budgets/spending.ts'
import { type Conversing, continuedTurn } from '../recording/agent-requests.ts'
import type { WriteAnswer } from '../recording/answer.ts'
import { matchesHeader } from '../recording/named-calls.ts'
import { inConversation, recordingTarget } from '../recording/target-headers.ts'
import { grouped } from './deltas.ts'
import type { GenerationContext } from './generation.ts'
import type { GenerationRecord } from './observed.ts'
import type { GenerationParts } from './parts.ts'
import { type Answering, type PartialAnswer, recordAnswer } from './recorded.ts'

/** The refusals that all generation endpoints share. */
export const generationRefusals = openAiRefusalContracts(
  'malformed_json',
  'model_not_found',
  'model_lacks',
  'entity_forbidden',
  'body_too_large',
  'unsupported_media_type',
  'engine_queue_full',
  'engine_share_full',
  'record_refuses_writes',
  'upstream_failed',
  'upstream_timeout',
)

/** What the headers of an answer report. */
interface Noted {
  widened: readonly string[]
  ignored: readonly string[]
  notes: readonly string[]
  /** Tools that the model is not shown. */
  skipped?: readonly string[]
}

/** How an endpoint begins an answer and writes it, whole or as chunks. */
export interface Writers<Body, Begun extends Noted & Answering> {
  kind: CompletionKind
  /** The API of the client, if it is not the one of this kind. */
  wire?: string
  /** What the record keeps of the request, if not the body as it was sent. */
  inputsOf?(body: Body): object
  /** Whether requests without `store` have their answer stored. */
  isAskedForBySilence?: boolean
  /** A field of the body that has no meaning unless the answer is recorded. */
  needing?(body: Body): { field: string; received: string } | undefined
  begin(services: GenerationParts, body: Body, asking: GenerationContext): Promise<Begun>
  /** For a stream, this is what the record keeps. */
  createAnswer(begun: Begun, isStream: boolean): PartialAnswer
  /** `complete` is awaited before the chunk that tells the client that the answer is complete. */
  chunksOf(begun: Begun, complete: () => Promise<void>): AsyncIterable<object>
  /** For answers of which more than the call is kept; writes the call as well. */
  keep?(begun: Begun, call: Parameters<WriteAnswer>[0]): Promise<void>
  /** The whole answer, if it is not the one that the record keeps. */
  wholeOf?(begun: Begun): Promise<object>
  /** How chunks are written; by default as clients of OpenAI read them. */
  form?: EventForm
}

/** Fields of a body that the record does not keep: anyone who knows the salt can share the cache of these prompts. */
const recordedBody: BodyExclusions = { without: ['cache_salt'] }

/** The routes whose answers cost tokens and are recorded. */
export const chargedBody = { right: 'infer', spendsTokens: true, keepsBody: recordedBody } as const

/** Those of them whose requests may name a prompt. */
export const promptedBody = { ...chargedBody, namesPrompt: true } as const

interface GenerationBody extends Conversing {
  stream?: boolean | null | undefined
  request_id?: string | null | undefined
  store?: boolean | null | undefined
  session_id?: string | null | undefined
  conversation?: string | { id: string } | null | undefined
  stream_interval?: number | null | undefined
  metadata?: unknown
}

/** Answers a request whole, or as server-sent events if its body has `"stream": true`. */
export async function respond<Body extends GenerationBody, Begun extends Noted & Answering>(
  services: GenerationParts,
  request: FastifyRequest & { body: Body },
  reply: FastifyReply,
  writers: Writers<Body, Begun>,
): Promise<object> {
  const { kind, wire, inputsOf, isAskedForBySilence = false, needing } = writers
  const { begin, createAnswer, chunksOf, keep, wholeOf, form } = writers
  const { body, caller, log } = request
  const arrived = performance.now()
  const disconnect = disconnectSignal(reply)
  const id = answerIdOf(request, body.request_id)
  const isStream = body.stream === true
  const target = request.target ?? recordingTarget(caller, request.headers)
  const recording = await services.recorder.open(
    {
      caller,
      target: inConversation(target, request.headers, body),
      kind,
      wire,
      store: body.store,
      isAskedForBySilence,
      needing: needing?.(body),
      metadata: body.metadata instanceof JsonText ? body.metadata : undefined,
      prompt: request.namedPrompt,
      shadow: request.shadow,
      continued: continuedTurn(request.headers, body),
      batched: request.batched,
      isStream,
      inputs: inputsOf
        ? { bytes: request.keptBody.bytes, json: () => new JsonText(writeJson(inputsOf(body))) }
        : request.keptBody,
    },
    disconnect,
  )
  // The model computes the prompt while the record is asked whether it accepts writes.
  const proof = recording?.proof
  const refused = new AbortController()
  const signal = proof !== undefined ? AbortSignal.any([disconnect, refused.signal]) : disconnect
  let measured: GenerationRecord | undefined
  const asking: GenerationContext = {
    caller,
    id,
    arrived,
    ...((request.batched ?? request.waiting) && { lane: 'background' }),
    ...(request.waiting && { waiting: request.waiting }),
    ...(request.traceparent && { traceparent: request.traceparent }),
    signal,
    project: target.project,
    warn: (text) => reply.header(budgetHeader, text),
    ...(reply.server.refusesIgnored && { refuseIgnored: (names) => addIgnored(reply, names) }),
    recording,
    note(record) {
      measured = record
      request.modelAnswers?.push(record)
      log.info({ ...record, completion: id }, 'completion')
    },
  }
  const refusedBy = (error: unknown) => {
    refused.abort(error)
    recording?.end()
    throw error
  }
  const beginning = begin(services, body, asking).then((begun) => {
    addIgnored(reply, begun.ignored)
    return begun
  })
  const [begun] = await Promise.all([beginning, proof]).catch(refusedBy)
  const inChunks = (deltas: Begun['deltas']) => grouped(deltas, body.stream_interval ?? 1)
  // What the answer is written with is created while the answer is awaited.
  const answer = createAnswer(begun, isStream)
  await begun.underWay?.catch(refusedBy)
  if (begun.widened.length > 0) reply.header('x-heddle-widened', headerOf(begun.widened))
  if (begun.notes.length > 0) {
    reply.header('x-heddle-schema-notes', headerOf(begun.notes))
    log.info(
      { completion: id, notes: begun.notes.slice(0, maxLogged) },
      'names in schemas that are not keywords',
    )
  }
  if (begun.skipped?.length) reply.header('x-heddle-skipped-tools', headerOf(begun.skipped))
  if (recording === undefined) {
    if (!isStream) return wholeOf?.(begun) ?? folded(begun, answer)
    await sendEvents(
      reply,
      chunksOf({ ...begun, deltas: inChunks(begun.deltas) }, async () => {}),
      signal,
      form,
    )
    return reply
  }
  reply.header('x-heddle-call-id', recording.callId)
  if (recording.parentMatches > 1) reply.header(matchesHeader, recording.parentMatches)
  const recorded = recordAnswer(recording, begun, answer, {
    measured: () => measured,
    whyNot: (error) => (hasLeft(disconnect) ? 'client disconnected' : asRefusal(error, request).message),
    ...(keep && body.store !== false && { keep: (call) => keep(begun, call) }),
  })
  if (!isStream) return wholeOf?.({ ...begun, deltas: recorded.deltas() }) ?? recorded.whole()
  const chunks = chunksOf({ ...begun, deltas: inChunks(recorded.deltas()) }, recorded.complete)
  await sendEvents(reply, chunks, signal, form).finally(recorded.left)
  return reply
}

async function folded({ deltas }: Answering, answer: PartialAnswer): Promise<object> {
  for await (const group of deltas) {
    const adding = answer.add(group)
    if (adding) await adding
  }
  return answer.end()
}

const maxLogged = 16
