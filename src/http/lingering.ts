import { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** How long a refused client may be silent before its connection is cut. */
const silentMs = 5_000
/** How long it may continue to send in total: the same as nginx allows (lingering_time). */
const maxMs = 30_000
/** How much it may send, as a multiple of the largest body the route accepts. */
const maxMultiple = 2

/** If the body is no longer than this, its rest is read and the connection stays open. */
const shortBody = 64 * 1024

/** Connections whose last answer is being sent, or has been sent. */
const leaving = new WeakSet<Socket>()

/**
 * Requests that arrive after the last answer of a connection must not be processed: their client would never get an
 * answer (RFC 9112, section 9.6).
 */
export function ignoreLaterRequests(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw
    // Node passes on requests that arrived in one piece with an earlier one, even if the answer to that has ended the
    // connection.
    if (leaving.has(socket) || socket.writableEnded) reply.hijack()
    else done()
  })
}

/**
 * Called before a refusal whose client is still sending. Closing a connection with unread bytes resets it, and the
 * reset overtakes the answer. So the rest of the body is read and discarded, within bounds, and the connection is
 * closed only after that.
 */
export function readRestOf(request: FastifyRequest, reply: FastifyReply): void {
  const { raw } = request
  const { socket } = raw
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = raw.headers
  // An injected request has no connection.
  if (!(socket instanceof Socket) || raw.complete || (encoding === undefined && Number(length) === 0)) return
  if (encoding !== undefined || Number(length) > shortBody) {
    reply.header('connection', 'close')
    leaving.add(socket)
  }
  const limit = Math.max(request.server.initialConfig.bodyLimit ?? 0, request.routeOptions.bodyLimit ?? 0)
  const linger = cutAfter(socket, maxMultiple * limit)
  const over = () => {
    linger.end()
    Reflect.deleteProperty(socket, 'destroySoon')
  }
  raw.unpipe()
  raw.on('data', (piece: Uint8Array) => linger.take(piece.length))
  raw.once('end', over)
  raw.resume()
  socket.destroySoon = () => {
    leaving.add(socket)
    const close = () => Socket.prototype.destroySoon.call(socket)
    if (raw.readableEnded) return close()
    raw.once('end', close)
    socket.end()
  }
}

/**
 * The same for a connection on which HTTP can no longer be parsed. `arrived` reports that more data, or the end, has
 * arrived.
 */
export function readRestAfterFault(socket: Socket, most: number): { arrived(): void } {
  leaving.add(socket)
  const linger = cutAfter(socket, most)
  let read = socket.bytesRead
  return {
    arrived() {
      if (socket.readableEnded) socket.destroy()
      else linger.take(socket.bytesRead - read)
      read = socket.bytesRead
    },
  }
}

function cutAfter(socket: Socket, most: number): { take(bytes: number): void; end(): void } {
  const cut = () => socket.destroy()
  const last = performance.now() + maxMs
  const silence = setTimeout(cut, silentMs)
  const end = () => {
    clearTimeout(silence)
    socket.off('close', end)
  }
  socket.once('close', end)
  let left = most
  return {
    take(bytes) {
      left -= bytes
      if (left < 0 || performance.now() > last) cut()
      else silence.refresh()
    },
    end,
  }
}
