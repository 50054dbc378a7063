import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** Requests that may wait on one connection before reading from it pauses. */
const maxWaiting = 100

/**
 * Requests that a client sends without waiting for answers (RFC 9112, section 9.3.2) are processed one after the other.
 * Node would pass all of them on at once and buffer their answers until their turn, in memory without a bound, and
 * without a signal if the connection ends before that. This runs before every other hook. So each request that is
 * processed has a connection to answer on, whose end closes its response.
 */
export function queuePipelinedRequests(app: FastifyInstance): void {
  const waiting = new WeakMap<Socket, number>()

  function count(socket: Socket, change: 1 | -1): void {
    const now = (waiting.get(socket) ?? 0) + change
    waiting.set(socket, now)
    if (change === 1 && now >= maxWaiting) socket.pause()
    else if (change === -1 && now === maxWaiting - 1) socket.resume()
  }

  app.addHook('onRequest', ({ raw }, reply, done) => {
    // An injected request has no connection, and a request that is alone on its connection may begin.
    if (!(raw.socket instanceof Socket) || reply.raw.socket !== null) return done()
    const { socket } = raw
    count(socket, 1)
    whenItsTurn(raw, reply.raw, (hasConnection) => {
      count(socket, -1)
      if (hasConnection) done()
      else reply.hijack()
    })
  })
}

function whenItsTurn(request: IncomingMessage, response: ServerResponse, call: (has: boolean) => void): void {
  const begin = () => {
    request.off('close', leave)
    call(true)
  }
  const leave = () => {
    response.off('socket', begin)
    call(false)
  }
  response.once('socket', begin)
  request.once('close', leave)
}
