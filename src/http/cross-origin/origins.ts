import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { refuse } from '../../domain/refusals.ts'

/**
 * Headers that pages of these origins may read, besides those every page may
 * (https://fetch.spec.whatwg.org/#cors-safelisted-response-header-name).
 */
const exposed =
  'x-request-id, request-id, retry-after, x-heddle-call-id, x-heddle-prompt, x-heddle-matches, x-heddle-widened, x-heddle-skipped-tools, x-heddle-ignored-fields, x-heddle-cold-before'

const allowed = 'access-control-allow-origin'

/** How long a browser caches a preflight answer, in seconds; Chromium's maximum. */
const rememberedSeconds = 7_200

/**
 * Lets pages of other origins use this server (https://fetch.spec.whatwg.org/#http-cors-protocol). They need a key of
 * their own: cookies are not sent, so they cannot use the session of the page here.
 */
export function allowOrigins(app: FastifyInstance, origins: readonly string[]): void {
  if (origins.length === 0) return
  const isEveryone = origins.includes('*')
  const named = new Set(origins.filter((origin) => origin !== '*'))
  // The first of all hooks: the browser's preflight has no credentials, and refusals must be readable too.
  app.addHook('onRequest', (request, reply, done) => {
    if (named.size > 0) reply.header('vary', 'Origin')
    const { origin } = request.headers
    if (origin === undefined || !(isEveryone || named.has(origin))) return done()
    reply.header(allowed, named.has(origin) ? origin : '*')
    const asked = request.headers['access-control-request-method']
    if (request.method !== 'OPTIONS' || asked === undefined) {
      reply.header('access-control-expose-headers', exposed)
      return done()
    }
    const headers = request.headers['access-control-request-headers']
    reply
      .header('access-control-allow-methods', 'GET, HEAD, POST, PUT, PATCH, DELETE')
      .header('access-control-max-age', String(rememberedSeconds))
      .header('vary', 'Origin, Access-Control-Request-Headers')
    if (headers !== undefined) reply.header('access-control-allow-headers', headers)
    // The same for every address: only callers may learn whether a route exists.
    reply.code(204).send()
  })
}

/** A page of another site must not use this server through the browser of somebody who can reach it. */
export function requireOwnOrigin(request: FastifyRequest, reply: FastifyReply): void {
  if (!reply.hasHeader(allowed)) requireSameOrigin(request)
}

/** Nor with a key that the browser remembers and sends unasked, which the setting for all pages does not mean. */
export function requireNamedOrigin(request: FastifyRequest, reply: FastifyReply): void {
  if (reply.getHeader(allowed) !== request.headers.origin) requireSameOrigin(request)
}

function requireSameOrigin({ headers, host }: FastifyRequest): void {
  const { origin } = headers
  if (origin === undefined || headers['sec-fetch-site'] === 'same-origin') return
  if (URL.parse(origin)?.host === host) return
  throw refuse('origin_forbidden', { origin: origin.slice(0, 200) })
}
