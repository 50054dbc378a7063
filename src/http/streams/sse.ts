import { once } from 'node:events'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Refusal } from '../../domain/refusals.ts'
import { asRefusal, openAiError } from '../errors.ts'
import { noteRefusal } from '../request-log.ts'
import { cutWhenStalled, usualStallTimeoutMs } from './stalled-clients.ts'

declare module 'fastify' {
  interface FastifyInstance {
    streamTimes: StreamTimes
  }
}

export interface StreamTimes {
  /** After this long without an event a comment is sent, because proxies and clients close a silent connection. */
  keepAliveMs: number
  /** How long a client may read nothing of what waits for it. */
  stallTimeoutMs: number
}

/** The usual times of event streams; tests give shorter ones. */
export function setStreamTimes(app: FastifyInstance, given: Partial<StreamTimes> = {}): StreamTimes {
  const times = { keepAliveMs: 15_000, stallTimeoutMs: usualStallTimeoutMs, ...given }
  app.decorate('streamTimes', times)
  return times
}

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  // For proxies that collect an answer before they pass it on.
  'x-accel-buffering': 'no',
}

/** How the values of a stream are written, and what is said beside them. */
export interface EventForm {
  write(value: object): string
  /** In a silence. */
  keepAlive: string
  /** In the place of what was to come. */
  failure(refusal: Refusal, request: FastifyRequest): string
  /** Behind everything. */
  end: string
}

/** As the clients of OpenAI read it. */
export const openAiEvents: EventForm = {
  write: (value) => `data: ${JSON.stringify(value)}\n\n`,
  keepAlive: ': keep-alive\n\n',
  failure: (refusal) => `data: ${JSON.stringify(openAiError(refusal))}\n\n`,
  end: 'data: [DONE]\n\n',
}

/**
 * Sends values as events (https://html.spec.whatwg.org/multipage/server-sent-events.html) at the pace at which the client
 * reads: the next value is only read when the socket has taken the last. The head goes out at once, with what can be said at once,
 * so everything that can be refused has to be refused before. A failure in the middle is an event of its own.
 * `signal` comes from `disconnectSignal`; whatever produces the values must end with it.
 */
export async function sendEvents(
  reply: FastifyReply,
  values: AsyncIterable<object>,
  signal: AbortSignal,
  form: EventForm = openAiEvents,
): Promise<void> {
  const { raw } = reply
  const { keepAliveMs, stallTimeoutMs } = reply.server.streamTimes
  reply.hijack()
  raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...headers })
  // What can be said at once goes with the head: each write to a socket costs more than all that is done for it here.
  const head = setImmediate(() => raw.flushHeaders())
  cutWhenStalled(reply, stallTimeoutMs)
  const silence = setTimeout(() => {
    // A client that has not read what came before does not wait for a sign of life.
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
    if (signal.aborted) {
      reply.log.debug({ reason: String(signal.reason) }, 'the client left in the middle of a stream')
      raw.destroy()
      return
    }
    const refusal = asRefusal(error, reply.request)
    noteRefusal(reply.log, refusal)
    raw.end(form.failure(refusal, reply.request) + form.end)
  } finally {
    clearImmediate(head)
    clearTimeout(silence)
  }
}
