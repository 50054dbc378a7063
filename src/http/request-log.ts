import { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, LogController } from 'fastify'
import type { Logger } from 'pino'
import type { Refusal, RefusalCode } from '../domain/refusals.ts'
import { whenClosed } from './disconnect.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Machines request it every few seconds, so it is logged at debug. */
    probe?: boolean
  }
}

/** Replaces Fastify's own logging of requests: two lines for each, and stacks for clients that left. */
export function createRequestLogController(
  logError: (error: unknown, request: FastifyRequest) => void,
): LogController {
  return Object.assign(new LogController(), {
    incomingRequest: (request: FastifyRequest) => request.log.debug({ req: request }, 'incoming request'),
    requestCompleted: () => {},
    streamError: (error: Error & { code?: string }, request: FastifyRequest) => {
      if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') logError(error, request)
    },
  })
}

/** One line for each request, when its answer was sent or its client has left. */
export function logRequests(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    let isWhole = false
    reply.raw.once('finish', () => {
      isWhole = true
    })
    whenClosed(reply, () => {
      const values = { req: request, responseTime: Math.round(reply.elapsedTime * 10) / 10 }
      const level = request.routeOptions.config.probe ? 'debug' : 'info'
      if (isWhole) request.log[level]({ ...values, res: reply }, 'request completed')
      else request.log[level](values, 'the client left before the end of its answer')
    })
    done()
  })
}

/** Runs after the check of credentials: from here on every line of a request names the user. */
export function logCallerNames(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    // Public routes have no caller. The name is set on the request's own logger; another child logger would cost a
    // tenth of a read.
    if (request.caller !== undefined) {
      const { log } = request
      if ('setBindings' in log) (log as Logger).setBindings({ user: request.caller.name })
    }
    done()
  })
}

/** Logged once by the code that detects them; each affected request has its own line with the status. */
const loggedElsewhere = new Set<RefusalCode>(['stopping', 'storage_replaced'])

/**
 * Mistakes of callers are of no interest to the operator. What the server cannot do is logged in one line. Only errors
 * of the server itself are logged with a stack, because someone has to find their cause.
 */
export function logRefusal(
  log: FastifyBaseLogger,
  { code, status, message, cause }: Refusal,
  isProbe = false,
): void {
  // A full queue is caused by the callers; any other reason for being too busy comes with its cause.
  const isFull = code === 'too_busy' && cause === undefined
  if (code === 'internal_error') log.error({ err: cause, code }, message)
  else if (status < 500 || loggedElsewhere.has(code) || isFull || isProbe) log.debug({ code }, message)
  else if (cause === undefined) log.warn({ code }, message)
  else log.error({ code, cause: cause instanceof Error ? cause.message : String(cause) }, message)
}

/** Whether the connection ended while the client was still sending: any failure then is a consequence of that. */
export function disconnectedInBody({ raw }: FastifyRequest): boolean {
  return !raw.complete && raw.destroyed
}
