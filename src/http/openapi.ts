import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import { createJsonSchemaTransform } from 'fastify-type-provider-zod'
import type { App } from './contracts.ts'

const about = `One process with a local model behind the OpenAI wire and the record around it.
Every route takes HTTP Basic (user name \`api\`, a key as password) or Bearer (a key).
docs/errors.md lists every code of a refusal.`

const transform = createJsonSchemaTransform({ zodToJsonConfig: { unrepresentable: 'any' } })

/** Collects the contracts of the routes that follow. */
export async function describeRoutes(app: App, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
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
        },
      },
      security: [{ basic: [] }, { bearer: [] }],
    },
    transform: (given) => {
      const { form } = given.route.config ?? {}
      if (form === undefined) return transform(given)
      return transform({
        ...given,
        schema: { ...given.schema, consumes: ['multipart/form-data'], body: form },
      })
    },
  })
}

/** The page for people and the document for programs. */
export async function serveReference(app: App): Promise<void> {
  app.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) => {
    return reply.type('application/json; charset=utf-8').send(JSON.stringify(app.swagger()))
  })
  await app.register(swaggerUi, { routePrefix: '/docs', staticCSP: true, logLevel: 'warn' })
}
