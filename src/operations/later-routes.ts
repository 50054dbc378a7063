import type {
  FastifyContextConfig,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  HTTPMethods,
  onRequestHookHandler,
  RouteOptions,
} from 'fastify'
import { z } from 'zod'
import type { App } from '../http/contracts.ts'

/**
 * Routes whose code is loaded with the first request for one of their family. Until then a server knows only what
 * decides about requests before their body is read: a start is sooner, and what nobody uses takes no memory.
 */

declare module 'fastify' {
  interface FastifyInstance {
    /** Loads the code of all routes. */
    loadRoutes(): Promise<unknown>
  }
  interface FastifyContextConfig {
    /** The module and the name of the contract of its bodies, by which threads find it that read large ones. */
    contract?: string
  }
}

/** What is known of a route before its family is loaded. */
export interface LaterRoute {
  method: HTTPMethods
  url: string
  config: FastifyContextConfig
  bodyLimit?: number
  schema: Pick<FastifySchema, 'hide' | 'consumes'>
  /** What its contract checks. */
  checks: readonly ('params' | 'querystring' | 'body')[]
  /** Whether it does something of its own before the body is checked. */
  prepares?: true
  exposeHeadRoute?: false
}

/** Declares the routes of a family to the app, or to whoever collects them. */
type Declare = (app: App) => Promise<void>

const keyOf = ({ method, url }: { method: HTTPMethods | HTTPMethods[]; url: string }) => `${method} ${url}`

/** The routes that a family declares, by method and address. */
export async function collectRoutes(declare: Declare): Promise<Map<string, RouteOptions>> {
  const routes = new Map<string, RouteOptions>()
  const route = (options: RouteOptions) => routes.set(keyOf(options), options)
  const short = (method: HTTPMethods) => (url: string, options: object, handler: unknown) =>
    route({ method, url, handler, ...options } as RouteOptions)
  const collector = {
    route,
    get: short('GET'),
    post: short('POST'),
    put: short('PUT'),
    patch: short('PATCH'),
    delete: short('DELETE'),
  }
  await declare(collector as unknown as App)
  return routes
}

/** Declares a family of which only the table is loaded. The result loads the rest. */
export function declareLater(
  app: App,
  table: readonly LaterRoute[],
  load: () => Promise<Declare>,
): () => Promise<void> {
  const fills = new Map<string, (real: RouteOptions) => void>()
  let opened: Promise<void> | undefined
  async function fill() {
    const routes = await collectRoutes(await load())
    for (const [key, fillIn] of fills) {
      const real = routes.get(key)
      if (real === undefined) throw new Error(`${key} is not declared: run \`npm run docs:generate\``)
      fillIn(real)
    }
  }
  const open = () => {
    opened ??= fill().catch((error: unknown) => {
      // Too many open files, perhaps: the next request tries again.
      opened = undefined
      throw error
    })
    return opened
  }
  for (const route of table) fills.set(keyOf(route), declareRoute(app, route, open))
  return open
}

const anyAnswer = { default: z.unknown() }

/** The result fills in what the table does not have. */
function declareRoute(
  app: App,
  { method, url, config, bodyLimit, schema: known, checks, prepares, exposeHeadRoute }: LaterRoute,
  open: () => Promise<void>,
): (real: RouteOptions) => void {
  let real: Partial<RouteOptions> = {}
  const schema: FastifySchema = { ...known, response: anyAnswer }
  for (const name of checks) schema[name] = z.lazy(() => real.schema?.[name] as z.ZodType)
  const run =
    (name: 'onRequest' | 'preValidation'): Hook =>
    (request, reply, done) => {
      const hook = real[name] as Hook | undefined
      if (hook === undefined) return done()
      const running: unknown = hook(request, reply, done)
      if (running instanceof Promise) running.then(() => done(), done)
    }
  const prepare = run('onRequest')
  app.route({
    method,
    url,
    config,
    ...(bodyLimit !== undefined && { bodyLimit }),
    ...(exposeHeadRoute !== undefined && { exposeHeadRoute }),
    schema,
    onRequest(request, reply, done) {
      if (real.handler !== undefined) prepare(request, reply, done)
      else open().then(() => prepare(request, reply, done), done)
    },
    ...(prepares && { preValidation: run('preValidation') }),
    handler: (request, reply) => (real as RouteOptions).handler.call(app, request as never, reply as never),
  })
  return (declared) => {
    real = declared
    Object.assign(schema, declared.schema)
  }
}

/** Calls `done`, or is awaited. */
type Hook = (
  request: FastifyRequest,
  reply: FastifyReply,
  done: (error?: Error) => void,
) => ReturnType<onRequestHookHandler>
