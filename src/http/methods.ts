import type { FastifyRequest } from 'fastify'
import { refuse } from '../domain/refusals.ts'
import type { App } from './contracts.ts'
import { pathOf } from './errors.ts'

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** Remembers which methods each path has; `refuseOthers` then answers 405 for the rest (RFC 9110, section 15.5.6). */
export function noteMethods(app: App): { refuseOthers(): void } {
  const byPath = new Map<string, Set<string>>()
  app.addHook('onRoute', (route) => {
    const known = byPath.get(route.url) ?? new Set()
    byPath.set(route.url, known)
    for (const method of [route.method].flat()) known.add(method)
  })
  return {
    refuseOthers() {
      for (const [url, known] of [...byPath]) {
        if (url.includes('*')) continue
        const allowed = [...known].join(', ')
        const others = methods.filter((method) => !known.has(method))
        const refused = async (request: FastifyRequest) => {
          throw refuse('method_not_allowed', { method: request.method, path: pathOf(request), allowed })
        }
        // Before anything of a body is read.
        app.route({ method: others, url, schema: { hide: true }, onRequest: refused, handler: refused })
      }
    },
  }
}
