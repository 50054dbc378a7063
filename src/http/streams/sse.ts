import { once } from 'node:events'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Refusal } from '../../domain/refusals.ts'
import { DisconnectError } from '../disconnect.ts'
import { asRefusal, openAiError } from '../errors.ts'
import { logRefusal } from '../request-log.ts'
import { defaultStallTimeoutMs, disconnectWhenStalled } from './stalled-clients.ts'

declare module 'fastify' {
  interface FastifyInstance {
    streamTimes: StreamTimes
  }
}

export interface StreamTimes {
  /** After this long without an event a comment is sent, because proxies and clients close a silent connection. */
  keepAliveMs: number
  /** How long a client may leave waiting data unread. */
  stallTimeoutMs: number
}

/** The default times of event streams; tests pass shorter ones. */
export function setStreamTimes(app: FastifyInstance, custom: Partial<StreamTimes> = {}): StreamTimes {
  const times = { keepAliveMs: 15_000, stallTimeoutMs: defaultStallTimeoutMs, ...custom }
  app.decorate('streamTimes', times)
  return times
}

const headers = {
  'cache-control': 'no-cache',
  // Tells proxies not to buffer the answer.
  'x-accel-buffering': 'no',
}

/** How the values of a stream are written, and what is sent besides them. */
export interface EventForm {
  /** The media type; by default that of events. */
  type?: string
  write(value: object): string
  /** Sent during silence. */
  keepAlive: string
  /** Sent in place of the rest. */
  failure(refusal: Refusal, request: FastifyRequest): string
  /** Sent at the very end. */
  end: string
}

/** In the form that OpenAI's clients expect. */
export const openAiEvents: EventForm = {
  write: (value) => `data: ${JSON.stringify(value)}\n\n`,
  keepAlive: ': keep-alive\n\n',
  failure: (refusal) => `data: ${JSON.stringify(openAiError(refusal))}\n\n`,
  end: 'data: [DONE]\n\n',
}

/**
 * Sends values as events (https://html.spec.whatwg.org/multipage/server-sent-events.html) at the pace of the client:
 * the next value is read only when the socket has taken the last. The head is sent at once, together with events that
 * are ready, so everything that can be refused has to be refused before. A failure midway is an event of its own.
 * `signal` comes from `disconnectSignal`; the source of the values must end with it.
 */
export async function sendEvents(
  reply: FastifyReply,
  values: AsyncIterable<object>,
  signal: AbortSignal,
  form: EventForm = openAiEvents,
): Promise<void> {
  const { raw } = reply
  const { type = 'text/event-stream; charset=utf-8' } = form
  const { keepAliveMs, stallTimeoutMs } = reply.server.streamTimes
  reply.hijack()
  raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), 'content-type': type, ...headers })
  // Events that are ready are sent together with the head: each write to a socket costs more than all the work done
  // here.
  const head = setImmediate(() => raw.flushHeaders())
  disconnectWhenStalled(reply, stallTimeoutMs)
  const silence = setTimeout(() => {
    // A client that has not read earlier data does not need a keep-alive.
    if (!raw.destroyed && !raw.writableNeedDrain) raw.write(form.keepAlive)
    silence.refresh()
  }, keepAliveMs)
  try {
    for await (const value of values) {
      signal.throwIfAborted()
      clearImmediate(head)
      if (!raw.write(form.write(value))) await once(raw, 'drain', { signal })
      silence.refresh()
    }
    signal.throwIfAborted()
    raw.end(form.end)
  } catch (error) {
    const cause = signal.aborted ? signal.reason : error
    if (cause instanceof DisconnectError) {
      reply.log.debug({ reason: String(cause) }, 'the client left in the middle of a stream')
      raw.destroy()
      return
    }
    const refusal = asRefusal(cause, reply.request)
    logRefusal(reply.log, refusal)
    raw.end(form.failure(refusal, reply.request) + form.end)
  } finally {
    clearImmediate(head)
    clearTimeout(silence)
  }
}
