import type { FastifyInstance } from 'fastify'

/** What the pages of these origins may read of an answer, beside what every page may (https://fetch.spec.whatwg.org/#cors-safelisted-response-header-name). */
const exposed =
  'x-request-id, request-id, retry-after, x-heddle-call-id, x-heddle-matches, x-heddle-widened, x-heddle-skipped-tools'

/** How long a browser remembers what it was told, in seconds; Chromium no longer than that. */
const rememberedSeconds = 7_200

/**
 * Lets the pages of other origins ask this server (https://fetch.spec.whatwg.org/#http-cors-protocol). They bring a key of
 * their own: cookies stay at home, and with them the session of the page here.
 */
export function letOriginsIn(app: FastifyInstance, origins: readonly string[]): void {
  if (origins.length === 0) return
  const isEveryone = origins.includes('*')
  const known = new Set(origins)
  // The first of all hooks: the browser asks without credentials, and reads refusals too.
  app.addHook('onRequest', (request, reply, done) => {
    if (!isEveryone) reply.header('vary', 'Origin')
    const { origin } = request.headers
    if (origin === undefined || !(isEveryone || known.has(origin))) return done()
    reply.header('access-control-allow-origin', isEveryone ? '*' : origin)
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
    // The same for every address: whether there is one is said to callers alone.
    reply.code(204).send()
  })
}
