import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { onAbandoned } from '../domain/abandoning.ts'
import { Refusal, refuse } from '../domain/refusals.ts'

declare module 'fastify' {
  interface FastifyInstance {
    waits: Waits
  }
}

/** The work for requests that would end if their client disconnected. */
interface Waits {
  open: Set<AbortController>
  /** Streams that would not end by themselves end. */
  isStopping: boolean
  isCutOff: boolean
}

/** The work ended because its client disconnected. That is no fault, so it is not logged as an error. */
export class DisconnectError extends Error {}

export function followDisconnects(app: FastifyInstance): void {
  app.decorate('waits', { open: new Set<AbortController>(), isStopping: false, isCutOff: false })
}

/**
 * Ends all work for requests with the refusal that the server is stopping, so that clients learn why: whole answers
 * become that refusal, and streams end with it in the form of their API.
 */
export function cutOffWaits({ waits }: FastifyInstance): void {
  waits.isCutOff = true
  for (const controller of waits.open) controller.abort(refuse('stopping'))
}

/** Whether the client disconnected. The work may also have ended because the server stops. */
export function hasLeft({ aborted, reason }: AbortSignal): boolean {
  return aborted && !(reason instanceof Refusal && reason.code === 'stopping')
}

const callsOfClose = Symbol('calls of close')

type Closing = FastifyReply['raw'] & { [callsOfClose]?: (() => void)[] }

/**
 * Unlike the hook onResponse, this also fires when the client leaves midway; it may already have left. All calls of a
 * response share one listener: with one each, and those of Fastify, Node warned of a leak.
 */
export function whenClosed({ raw }: FastifyReply, call: () => void): void {
  const closing: Closing = raw
  const calls = closing[callsOfClose]
  if (raw.closed) call()
  else if (calls !== undefined) calls.push(call)
  else {
    const all = [call]
    closing[callsOfClose] = all
    raw.once('close', () => {
      for (const each of all) each()
    })
  }
}

/**
 * Aborts when the client leaves before its answer is complete, or when the server stops before that. `request.signal`
 * cannot be used: it aborts as soon as the body of a POST has been read (fastify#6725, #7033), while `close` of the
 * response fires at the right time. If work is abandoned because the client does not read an answer that has begun,
 * the connection is cut, because that answer can never be completed.
 */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  const { waits } = reply.server
  if (waits.isCutOff) controller.abort(refuse('stopping'))
  waits.open.add(controller)
  whenClosed(reply, () => {
    waits.open.delete(controller)
    if (!reply.raw.writableFinished) controller.abort(new DisconnectError('the client has left'))
  })
  onAbandoned(controller.signal, (reason) => {
    if (!reply.raw.headersSent) return
    reply.log.info({ reason: reason.message }, 'cut off an answer that its client does not read')
    reply.raw.destroy()
  })
  return controller.signal
}

const lookMs = 50
/** A request that its client sent as soon as it was connected has arrived by then. */
const firstRequestMs = 250

/**
 * A server that stops waits for its connections to end, but Node ends only those that are idle when it is told to: not
 * one that becomes idle later, and not one on which nothing has arrived. Browsers open such connections in advance, and
 * they would hold the server for as long as the browser likes.
 */
export function endConnectionsOnClose(app: FastifyInstance): void {
  const connectedAt = new Map<Socket, number>()
  app.server.on('connection', (socket: Socket) => {
    connectedAt.set(socket, performance.now())
    socket.once('close', () => connectedAt.delete(socket))
  })
  app.addHook('preClose', (done) => {
    if (app.server.listening) {
      const looks = setInterval(() => {
        app.server.closeIdleConnections()
        const before = performance.now() - firstRequestMs
        for (const [socket, at] of connectedAt) if (at < before && socket.bytesRead === 0) socket.destroy()
      }, lookMs)
      app.server.once('close', () => clearInterval(looks))
    }
    done()
  })
}
