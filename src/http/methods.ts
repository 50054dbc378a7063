import FindMyWay from 'find-my-way'
import { callIdPattern, isCompletionId } from '../domain/ids.ts'
import { refuse } from '../domain/refusals.ts'
import type { App } from './contracts.ts'
import { pathOf, routeNotFound, wireOf } from './errors.ts'

/** Anthropic's clients ask for things of their own under the same names. */
const ofOpenAi = /^\/v1\/(?:files|batches)(?:\/|$)/

/** What there is in place of routes of others. */
const insteadOf: readonly [path: RegExp, hint: string][] = [
  [/^\/v1\/complete$/, 'There is POST /v1/messages'],
  [/^\/completions?$/, 'There is POST /v1/completions'],
]

/**
 * Refuses requests without a route, after the check of credentials and before any of the body is read: 405 if the path
 * has other methods (RFC 9110, section 15.5.6), else 404. Declaring a route for each missing method would take 3 MB.
 */
export function refuseUnknownRoutes(app: App): void {
  const methodsOf = new Map<string, string[]>()
  app.addHook('onRoute', ({ method, url }) => {
    if (url.includes('*')) return
    const methods = methodsOf.get(url) ?? []
    methodsOf.set(url, [...methods, ...[method].flat()])
  })
  // Built with the first request that needs it: a start is sooner.
  let paths: ReturnType<typeof pathsOf> | undefined
  const find = (path: string) => {
    paths ??= pathsOf(methodsOf)
    return paths.find('GET', path)
  }

  /** The routes at and below a path, such as `POST /v1/responses`. */
  const routesBelow = (parent: string) =>
    [...methodsOf].flatMap(([url, methods]) =>
      url === parent || (url.startsWith(`${parent}/`) && !url.endsWith('/'))
        ? methods.filter((method) => method !== 'HEAD').map((method) => `${method} ${url}`)
        : [],
    )

  app.addHook('onRequest', (request, _reply, done) => {
    if (wireOf(request) === 'anthropic' && ofOpenAi.test(pathOf(request))) {
      throw routeNotFound(request, 'The files here are those of OpenAI; batches are at /v1/messages/batches')
    }
    const isNameless = lacksName(request.params)
    const found = request.is404 || isNameless ? find(request.url) : null
    const parent = parentOfWord(found?.params ?? request.params)
    if (parent !== undefined) throw routeNotFound(request, `There are: ${routesBelow(parent).join(', ')}`)
    if (!request.is404 && !isNameless) return done()
    const { method } = request
    const path = pathOf(request)
    const known: string[] | undefined = lacksName(found?.params) ? undefined : found?.store
    if (known) throw refuse('method_not_allowed', { method, path, allowed: [...new Set(known)].join(', ') })
    const server = request.host ? `${request.protocol}://${request.host}` : 'the address of the server'
    if (path.startsWith('/v1/v1/') && find(path.slice('/v1'.length)))
      throw routeNotFound(request, `This client adds /v1 itself: its base URL is ${server}`)
    if (find(`/v1${path}`))
      throw routeNotFound(request, `There is /v1${path}: the base URL of this client is ${server}/v1`)
    throw routeNotFound(request, insteadOf.find(([instead]) => instead.test(path))?.[1])
  })
}

/** The methods of each path, by any address that matches it. */
function pathsOf(methodsOf: ReadonlyMap<string, string[]>) {
  const paths = FindMyWay({ maxParamLength: 512 })
  for (const [url, methods] of methodsOf) paths.on('GET', url, () => {}, methods)
  return paths
}

const parents = { response_id: '/v1/responses', completion_id: '/v1/chat/completions' }

/**
 * The parent of a word such as `compact` where a route has the id of an answer: an operation of OpenAI that does not
 * exist here. Ids have a prefix or digits.
 */
function parentOfWord(params: unknown): string | undefined {
  for (const [name, parent] of Object.entries(parents)) {
    const id = (params as Record<string, string | undefined> | undefined)?.[name]
    if (id === undefined || isCompletionId(id) || callIdPattern.test(id)) continue
    if (/^[a-z]+(?:[_-][a-z]+)*$/.test(id)) return parent
  }
  return undefined
}

/** `/v1/responses/` is not a response whose id is empty. Only `*`, the rest of a path, may be. */
function lacksName(params: unknown): boolean {
  return Object.entries(params ?? {}).some(([name, value]) => value === '' && name !== '*')
}
