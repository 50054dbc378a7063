import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type RouteOptions,
} from 'fastify'
import { createJsonSchemaTransform } from 'fastify-type-provider-zod'
import { inSteps } from '../../../packages/waiting/index.ts'
import { describeFields } from '../../domain/fields.ts'

const about = `One process that serves a local model through the OpenAI API and keeps a record of its calls.
Every route accepts HTTP Basic (user name \`api\`, a key as the password), Bearer (a key), or the header \`x-api-key\` (or \`api-key\`).
docs/errors.md lists all error codes.`

const transform = createJsonSchemaTransform({
  zodToJsonConfig: { unrepresentable: 'any', override: describeFields },
})

const refusals: Record<string, string> = {
  400: 'The request contradicts itself or what is stored, or its body cannot be read.',
  401: 'The credentials are missing or wrong.',
  403: 'The caller may not use the entity or the route.',
  404: 'It does not exist, or the caller may not see it.',
  409: 'The request conflicts with what is stored.',
  413: 'The body is too large.',
  415: 'The media type of the body is not supported.',
  422: 'The request does not match its schema.',
  429: 'A queue is full, a limit of the user is reached, or too many wrong keys were sent. `Retry-After` says when to try again.',
  500: 'The server failed.',
  503: 'The server is not ready or too busy. `Retry-After` says when to try again.',
  502: 'The remote server that runs the model failed.',
  504: 'The query, or the remote server that runs the model, took too long.',
}

/** Describes what the status of each refusal means here. */
function describedRefusals(response: Record<string, unknown>): Record<string, unknown> {
  const described = Object.entries(response).map(([status, schema]) => {
    const description = refusals[status]
    return [status, description ? { description, content: { 'application/json': { schema } } } : schema]
  })
  return Object.fromEntries(described)
}

/**
 * The name of an operation in generated clients. It consists of method and path, so it is unique and as stable as the
 * path. `POST /objs/:object_id/aliases` is `postObjsByObjectIdAliases`, and a path that ends in a slash ends in `Slash`.
 */
function operationIdOf(method: string, url: string): string {
  const words = url
    .replace(/\/$/, '/slash')
    .split(/[/_-]/)
    .filter((word) => !['', ':entity', ':project'].includes(word))
  const capital = (word: string) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`
  const names = words.map((word) => (word.startsWith(':') ? `By${capital(word.slice(1))}` : capital(word)))
  return method.toLowerCase() + names.join('')
}

/**
 * The schemas of the routes as they are shown. All at once they would hold up other requests for most of a second, so
 * they are made in steps, before the document that needs them.
 */
async function shownSchemas(routes: RouteOptions[], openapiObject: { openapi: string }) {
  const shown = new Map<string, ReturnType<typeof transform>>()
  await inSteps(routes, (route) => {
    const { url, config = {} } = route
    const schema = {
      ...route.schema,
      operationId: operationIdOf([route.method].flat()[0] as string, url),
      ...(config.form && { consumes: ['multipart/form-data'], body: config.form }),
      response: describedRefusals((route.schema?.response ?? {}) as Record<string, unknown>),
    }
    shown.set(nameOf(route), transform({ schema, url, route, openapiObject }))
  })
  return shown
}

const nameOf = ({ method, url }: Pick<RouteOptions, 'method' | 'url'>) => `${method} ${url}`

/** A separate app that only the main one calls: it describes these routes at `/docs` and through `swagger()`. */
export async function createReferenceApp(routes: RouteOptions[], version: string): Promise<FastifyInstance> {
  const openapi = '3.1.0'
  const shown = await shownSchemas(routes, { openapi })
  const app = Fastify({ exposeHeadRoutes: false })
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
  await app.register(swagger, {
    openapi: {
      openapi,
      info: {
        title: 'Heddle',
        version,
        description: about,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: {
        securitySchemes: {
          basic: { type: 'http', scheme: 'basic' },
          bearer: { type: 'http', scheme: 'bearer' },
          key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
        },
      },
      security: [{ basic: [] }, { bearer: [] }, { key: [] }],
    },
    transform: (asked) => shown.get(nameOf(asked.route)) ?? transform(asked),
  })
  await app.register(async (described) => {
    for (const { method, url, schema = {}, config = {} } of routes) {
      described.route({ method, url, schema, config, handler: answerNotFound })
    }
  })
  await app.register(swaggerUi, { routePrefix: '/docs', staticCSP: true, logLevel: 'warn' })
  await app.ready()
  return app
}

/** A path with `..` gets here, too. */
function answerNotFound(_request: FastifyRequest, reply: FastifyReply): void {
  reply.callNotFound()
}
