import type { FastifyReply } from 'fastify'

/** Why work ended: nobody waits for it any more. No fault of anyone's. */
export class Departure extends Error {}

/**
 * Aborts when the client leaves before its answer is complete. `request.signal` is no use: it aborts as soon as the body
 * of a POST has been read (fastify#6725, #7033); the answer's own `close` tells the truth.
 */
export function departureOf(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort(new Departure('the client has left'))
  })
  return controller.signal
}
