import { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** So long a client may take nothing of its answer; as of a stream of events. */
export const usualPatienceMs = 120_000

/** The system takes an answer that is no longer than this off our hands. */
const shortAnswer = 64 * 1024

/**
 * A client that takes nothing of a long answer is cut off: what waits for it is held in memory. While the answer itself is
 * not there yet nothing waits, and nobody is cut.
 */
export function cutWhoTakesNothing(app: FastifyInstance, patienceMs: number): void {
  app.addHook('onSend', (request, { raw }, payload, done) => {
    const isShort =
      payload == null ||
      ((typeof payload === 'string' || payload instanceof Uint8Array) && payload.length <= shortAnswer)
    // A request that was injected has no connection.
    if (!isShort && request.raw.socket instanceof Socket) {
      // The socket's own clock: it begins anew whenever the system has taken some of what waits.
      raw.setTimeout(patienceMs, () => {
        const { socket } = raw
        if (socket === null) return
        if (socket.writableLength === 0) {
          socket.setTimeout(patienceMs)
          return
        }
        request.log.info(
          { waiting: socket.writableLength },
          'cut off a client that takes nothing of its answer',
        )
        socket.destroy()
      })
    }
    done(null, payload)
  })
}
