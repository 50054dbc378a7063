import { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply } from 'fastify'

/** How long a client may leave waiting data of an answer unread. */
export const defaultStallTimeoutMs = 120_000

/** An answer up to this size fits into the buffers of the operating system. */
const shortAnswer = 64 * 1024

/** Cuts off clients that stop reading a long answer, because the unread part is in memory. */
export function disconnectStalledClients(app: FastifyInstance, timeoutMs: number): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    const isShort =
      payload == null ||
      ((typeof payload === 'string' || payload instanceof Uint8Array) && payload.length <= shortAnswer)
    if (!isShort) disconnectWhenStalled(reply, timeoutMs)
    done(null, payload)
  })
}

/** Until there is an answer nothing waits for the client, and it is not cut off. */
export function disconnectWhenStalled({ raw, request }: FastifyReply, timeoutMs: number): void {
  // An injected request has no connection.
  if (!(request.raw.socket instanceof Socket)) return
  // The socket's timer restarts whenever the operating system takes some of the waiting data.
  raw.setTimeout(timeoutMs, () => {
    const { socket } = raw
    if (socket === null) return
    if (socket.writableLength === 0) {
      socket.setTimeout(timeoutMs)
      return
    }
    request.log.info({ waiting: socket.writableLength }, 'cut off a client that does not read its answer')
    socket.destroy()
  })
}
