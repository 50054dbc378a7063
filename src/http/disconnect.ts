import type { FastifyReply } from 'fastify'
import { onAbandoned } from '../domain/abandoning.ts'

/** The work ended because its client disconnected. That is no fault, so it is not logged as an error. */
export class DisconnectError extends Error {}

/** Unlike the hook onResponse, this also fires when the client leaves midway; it may already have left. */
export function whenClosed({ raw }: FastifyReply, call: () => void): void {
  if (raw.closed) call()
  else raw.once('close', call)
}

/**
 * Aborts when the client leaves before its answer is complete. `request.signal` cannot be used: it aborts as soon as
 * the body of a POST has been read (fastify#6725, #7033), while `close` of the response fires at the right time. If
 * work is abandoned because the client does not read an answer that has begun, the connection is cut, because that
 * answer can never be completed.
 */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  whenClosed(reply, () => {
    if (!reply.raw.writableFinished) controller.abort(new DisconnectError('the client has left'))
  })
  onAbandoned(controller.signal, (reason) => {
    if (!reply.raw.headersSent) return
    reply.log.info({ reason: reason.message }, 'cut off an answer that its client does not read')
    reply.raw.destroy()
  })
  return controller.signal
}
