import type { FastifyReply } from 'fastify'
import { onAbandoned } from '../domain/abandoning.ts'

/** Why work ended: nobody waits for it any more. No fault of anyone's. */
export class Departure extends Error {}

/**
 * Aborts when the client leaves before its answer is complete. `request.signal` is no use: it aborts as soon as the body
 * of a POST has been read (fastify#6725, #7033); the answer's own `close` tells the truth. And when the work behind an
 * answer that has begun is given up because the client takes nothing, the answer is cut off: it can never be completed.
 */
export function departureOf(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort(new Departure('the client has left'))
  })
  onAbandoned(controller.signal, (reason) => {
    if (!reply.raw.headersSent) return
    reply.log.info({ reason: reason.message }, 'cut off an answer that its client does not read')
    reply.raw.destroy()
  })
  return controller.signal
}
