import FindMyWay from 'find-my-way'
import { refuse } from '../domain/refusals.ts'
import type { App } from './contracts.ts'
import { pathOf } from './errors.ts'

/**
 * Refuses requests without a route, after the check of credentials and before any of the body is read: 405 if the path
 * has other methods (RFC 9110, section 15.5.6), else 404. Declaring a route for each missing method would take 3 MB.
 */
export function refuseUnknownRoutes(app: App): void {
  const paths = FindMyWay({ maxParamLength: 512 })
  const methodsOf = new Map<string, string[]>()
  app.addHook('onRoute', ({ method, url }) => {
    const known = methodsOf.get(url)
    if (known) known.push(...[method].flat())
    else if (!url.includes('*')) {
      const methods = [method].flat()
      methodsOf.set(url, methods)
      paths.on('GET', url, () => {}, methods)
    }
  })
  app.addHook('onRequest', (request, _reply, done) => {
    if (!request.is404 && !lacksName(request.params)) return done()
    const { method } = request
    const path = pathOf(request)
    const found = paths.find('GET', request.url)
    const known: string[] | undefined = lacksName(found?.params) ? undefined : found?.store
    if (known) throw refuse('method_not_allowed', { method, path, allowed: [...new Set(known)].join(', ') })
    throw refuse('route_not_found', { method, path })
  })
}

/** `/v1/responses/` is not a response whose id is empty. Only `*`, the rest of a path, may be. */
function lacksName(params: unknown): boolean {
  return Object.entries(params ?? {}).some(([name, value]) => value === '' && name !== '*')
}
