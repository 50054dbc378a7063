import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import { Departure } from './departure.ts'
import { asRefusal, openAiError } from './errors.ts'

export interface EventOptions {
  /** From `departureOf`: whoever makes the events ends with it. */
  signal: AbortSignal
  /** After so long without an event a comment is sent, because proxies and clients close what is silent. */
  keepAliveMs: number
  /** A client that takes nothing for so long is cut off. */
  patienceMs: number
}

export const eventDefaults = { keepAliveMs: 15_000, patienceMs: 120_000 }

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  // For proxies that gather an answer before they pass it on.
  'x-accel-buffering': 'no',
}

const end = 'data: [DONE]\n\n'

/**
 * Sends values as events (https://html.spec.whatwg.org/multipage/server-sent-events.html) at the pace at which the client
 * reads: the next one is only asked for when the socket has taken the last. The head goes out at once, so whatever can be
 * refused has to be refused before. A failure in the middle is an event of its own, as the clients of OpenAI expect it.
 */
export async function sendEvents(
  reply: FastifyReply,
  values: AsyncIterable<unknown>,
  options: EventOptions,
): Promise<void> {
  const { signal } = options
  reply.hijack()
  const { raw } = reply
  raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...headers })
  raw.flushHeaders()
  const silence = setTimeout(() => {
    // Whoever has not taken what came before is not waiting for a sign of life.
    if (!raw.destroyed && !raw.writableNeedDrain) raw.write(': keep-alive\n\n')
    silence.refresh()
  }, options.keepAliveMs)
  try {
    for await (const value of values) {
      signal.throwIfAborted()
      if (!raw.write(`data: ${JSON.stringify(value)}\n\n`)) await taken(raw, options)
      silence.refresh()
    }
    signal.throwIfAborted()
    if (!raw.write(end)) await taken(raw, options)
  } catch (error) {
    if (signal.aborted || error instanceof Departure) {
      reply.log.debug({ reason: String(signal.reason ?? error) }, 'the client left in the middle of a stream')
      raw.destroy()
      return
    }
    const refusal = asRefusal(error, reply.request)
    reply.log.error({ err: refusal.cause ?? refusal, code: refusal.code }, refusal.message)
    raw.write(`data: ${JSON.stringify(openAiError(refusal))}\n\n${end}`)
  } finally {
    clearTimeout(silence)
  }
  raw.end()
}

/** Until the client has taken what was written. */
async function taken(raw: ServerResponse, { signal, patienceMs }: EventOptions): Promise<void> {
  const impatience = AbortSignal.timeout(patienceMs)
  try {
    await once(raw, 'drain', { signal: AbortSignal.any([signal, impatience]) })
  } catch (error) {
    if (!impatience.aborted || signal.aborted) throw error
    // First, because whoever makes the events may only end when the client has left.
    raw.destroy()
    throw new Departure('the client does not read its stream')
  }
}
