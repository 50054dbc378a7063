import { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, LogController } from 'fastify'
import type { Logger } from 'pino'
import type { Refusal, RefusalCode } from '../domain/refusals.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Machines ask it every few seconds: it is logged at debug. */
    probe?: boolean
  }
}

/** What Fastify would log of a request by itself: two lines for each, and stacks for clients that left. */
export function quietRequests(noteError: (error: unknown, request: FastifyRequest) => void): LogController {
  return Object.assign(new LogController(), {
    incomingRequest: (request: FastifyRequest) => request.log.debug({ req: request }, 'incoming request'),
    requestCompleted: () => {},
    streamError: (error: Error & { code?: string }, request: FastifyRequest) => {
      if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') noteError(error, request)
    },
  })
}

/** One line for each request, when its answer has gone or its client has left. */
export function logRequests(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    let isWhole = false
    reply.raw.once('finish', () => {
      isWhole = true
    })
    reply.raw.once('close', () => {
      const values = { req: request, responseTime: Math.round(reply.elapsedTime * 10) / 10 }
      const level = request.routeOptions.config.probe ? 'debug' : 'info'
      if (isWhole) request.log[level]({ ...values, res: reply }, 'request completed')
      else request.log[level](values, 'the client left before the end of its answer')
    })
    done()
  })
}

/** Behind the check of credentials: from here on every line of a request names the user. */
export function nameCallers(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    // Public routes have none. The logger is this request's own; another child of it would cost a tenth of a read.
    if (request.caller !== undefined) {
      const { log } = request
      if ('setBindings' in log) (log as Logger).setBindings({ user: request.caller.name })
    }
    done()
  })
}

/** These are said once by whoever finds them; every request that meets them has its line with the status. */
const saidOnce = new Set<RefusalCode>(['stopping', 'storage_replaced'])

/**
 * The mistakes of callers are no news for the operator. What the server cannot do is, in one line; the stack is for faults of
 * the server alone, where someone has to look for the cause.
 */
export function noteRefusal(
  log: FastifyBaseLogger,
  { code, status, message, cause }: Refusal,
  isProbe = false,
): void {
  // A queue that is full is the callers' doing; what else makes the server too busy is told by its cause.
  const isFull = code === 'too_busy' && cause === undefined
  if (code === 'internal_error') log.error({ err: cause, code }, message)
  else if (status < 500 || saidOnce.has(code) || isFull || isProbe) log.debug({ code }, message)
  else if (cause === undefined) log.warn({ code }, message)
  else log.error({ code, cause: cause instanceof Error ? cause.message : String(cause) }, message)
}

/** Whether the connection ended while the client was still sending: whatever failed then failed because of it. */
export function leftInBody({ raw }: FastifyRequest): boolean {
  return !raw.complete && raw.destroyed
}
