import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { disconnectSignal } from '../../http/disconnect.ts'
import { type EventForm, sendEvents } from '../../http/sse.ts'
import type { Asking } from './generation.ts'
import type { GenerationParts } from './parts.ts'
import { headerOf } from './respond.ts'

/** What the headers of an answer say. */
interface Noted {
  widened: readonly string[]
  /** Tools that the model is not shown. */
  skipped?: readonly string[]
}

/** The two ends of the road: the answer as a whole, and the answer as chunks. */
export interface UnrecordedWriters<Body, Begun extends Noted> {
  begin(parts: GenerationParts, body: Body, asking: Asking): Promise<Begun>
  answerOf(begun: Begun): Promise<object>
  chunksOf(begun: Begun): AsyncIterable<object>
  /** How chunks are written, unless it is as the clients of OpenAI read them. */
  form?: EventForm
}

interface GenerationBody {
  stream?: boolean | null | undefined
  request_id?: string | null | undefined
}

/** Answers a request whole, or as server-sent events where its body says `"stream": true`. */
export async function respondUnrecorded<Body extends GenerationBody, Begun extends Noted>(
  parts: GenerationParts,
  request: FastifyRequest & { body: Body },
  reply: FastifyReply,
  { begin, answerOf, chunksOf, form }: UnrecordedWriters<Body, Begun>,
): Promise<object> {
  const { body, caller, log } = request
  const arrived = performance.now()
  const signal = disconnectSignal(reply)
  // By header before body, so that the logs of both sides have the same id.
  const given = request.headers['x-request-id'] === undefined ? body.request_id : request.id
  const id = given ?? randomUUID().replaceAll('-', '')
  const begun = await begin(parts, body, {
    caller,
    id,
    arrived,
    signal,
    note: (record) => log.info({ ...record, completion: id }, 'completion'),
  })
  if (begun.widened.length > 0) reply.header('x-heddle-widened', headerOf(begun.widened))
  if (begun.skipped?.length) reply.header('x-heddle-skipped-tools', headerOf(begun.skipped))
  if (!body.stream) return answerOf(begun)
  await sendEvents(reply, chunksOf(begun), signal, form)
  return reply
}
