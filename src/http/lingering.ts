import { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** For so long a client that was refused may send nothing before its connection is cut. */
const silentMs = 5_000
/** And for so long it may send altogether: what nginx grants, too (lingering_time). */
const longestMs = 30_000
/** Of the largest body that would have been taken. */
const mostOfLimit = 2

/** What is left of a body that is no longer than this is read on a connection that stays. */
const shortBody = 64 * 1024

/** Connections whose last answer is on its way, or has been. */
const leaving = new WeakSet<Socket>()

/**
 * What arrives behind the last answer of a connection must not be processed: its client never hears of it (RFC 9112,
 * section 9.6).
 */
export function dropWhatFollows(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw
    // Node hands on what came in one piece with a request, also when the answer to that has ended the connection.
    if (leaving.has(socket) || socket.writableEnded) reply.hijack()
    else done()
  })
}

/**
 * Goes before a refusal whose client is still sending. Whoever closes a connection on which bytes wait unread resets it, and
 * the reset overtakes the answer. So the rest of the body is read and thrown away, within bounds, and what closes the
 * connection behind the answer waits for its end.
 */
export function readRestOf(request: FastifyRequest, reply: FastifyReply): void {
  const { raw } = request
  const { socket } = raw
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = raw.headers
  // A request that was injected has no connection.
  if (!(socket instanceof Socket) || raw.complete || (encoding === undefined && Number(length) === 0)) return
  if (encoding !== undefined || Number(length) > shortBody) {
    reply.header('connection', 'close')
    leaving.add(socket)
  }
  const limit = Math.max(request.server.initialConfig.bodyLimit ?? 0, request.routeOptions.bodyLimit ?? 0)
  const linger = cutAfter(socket, mostOfLimit * limit)
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

/** The same for a connection on which nothing can be read as HTTP any more. `arrived` says that more came, or the end. */
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
  const last = performance.now() + longestMs
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
