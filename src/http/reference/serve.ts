import type { FastifyInstance, RouteOptions } from 'fastify'
import type { App } from '../contracts.ts'
import { routeNotFound } from '../errors.ts'

/** These headers are about one connection, and the client has another one (RFC 9110, section 7.6.1). */
const ofConnection: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'transfer-encoding',
])

/**
 * The reference as a page for people and as a document for programs. The code for it is loaded on first use: it would
 * take 3 MB of an idle server.
 */
export function describeRoutes(app: App, version: string): { serveReference(): void } {
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => {
    if (route.method !== 'HEAD' && !route.schema?.hide) routes.push(route)
  })
  let opened: Promise<FastifyInstance> | undefined
  app.addHook('onClose', async () => (await opened)?.close())

  return {
    serveReference() {
      const reference = () => {
        opened ??= Promise.all([import('./document.ts'), app.loadRoutes()]).then(([{ createReferenceApp }]) =>
          createReferenceApp(routes, version),
        )
        return opened
      }
      let document: Promise<string> | undefined
      app.get(
        '/openapi.json',
        { config: { right: 'own' }, schema: { hide: true } },
        async (_request, reply) => {
          document ??= reference().then((described) => JSON.stringify(described.swagger()))
          return reply.type('application/json; charset=utf-8').send(await document)
        },
      )
      for (const url of ['/docs', '/docs/*']) {
        app.get(url, { config: { right: 'own' }, schema: { hide: true } }, async (request, reply) => {
          const { url, headers } = request
          const answer = await (await reference()).inject({ method: 'GET', url, headers })
          if (answer.statusCode === 404) throw routeNotFound(request)
          const told = Object.entries(answer.headers).filter(([name]) => !ofConnection.has(name))
          return reply.code(answer.statusCode).headers(Object.fromEntries(told)).send(answer.rawPayload)
        })
      }
    },
  }
}
