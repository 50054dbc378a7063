import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** Requests that wait on one connection before no more are read from it. */
const mostWaiting = 100

/**
 * Requests that a client sends without waiting for answers (RFC 9112, section 9.3.2) are worked on one after the other. Node
 * hands all of them on at once and keeps their answers until it is their turn: in memory without a bound, and without a sign
 * when the connection ends before that. This comes before every other hook, so that each request that is seen has a
 * connection to answer on, whose end closes its response.
 */
export function takePipelinedInTurn(app: FastifyInstance): void {
  const waiting = new WeakMap<Socket, number>()

  function count(socket: Socket, change: 1 | -1): void {
    const now = (waiting.get(socket) ?? 0) + change
    waiting.set(socket, now)
    if (change === 1 && now >= mostWaiting) socket.pause()
    else if (change === -1 && now === mostWaiting - 1) socket.resume()
  }

  app.addHook('onRequest', ({ raw }, reply, done) => {
    // An injected request has no connection, and one that is alone on its connection may begin.
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
