import underPressure from '@fastify/under-pressure'
import Fastify, { type FastifyBaseLogger, type FastifyServerOptions } from 'fastify'
import type { Config } from './config.ts'
import { refuse } from './domain/refusals.ts'
import { acceptJson, checkAgainstContract } from './http/bodies.ts'
import { limitPlainBodies } from './http/body-limits.ts'
import { knowCallers } from './http/callers.ts'
import { type App, type ContractTypes, writeAnswers } from './http/contracts.ts'
import { asRefusal, handleErrors, refuseUnknownRoutes, sendRefusal } from './http/errors.ts'
import { answerFaults, refuseOddRequests } from './http/faults.ts'
import { answerHealth } from './http/health.ts'
import { dropWhatFollows } from './http/lingering.ts'
import { noteMethods } from './http/methods.ts'
import { measure } from './http/metrics.ts'
import { describeRoutes, serveReference } from './http/openapi.ts'
import { cutWhoTakesNothing, usualPatienceMs } from './http/patience.ts'
import { requestIds } from './http/request-ids.ts'
import type { Backend } from './inference/backend.ts'
import { createCompiling } from './inference/constraints/compiling.ts'
import { createPrompts } from './inference/prompt/prompts.ts'
import { callRoutes } from './operations/calls/routes.ts'
import { startSweep } from './operations/calls/sweep.ts'
import { noChatMetrics } from './operations/chat/metrics.ts'
import { registerChatMetrics } from './operations/chat/registered-metrics.ts'
import { chatRoutes } from './operations/chat/routes.ts'
import { completionRoutes } from './operations/completions/routes.ts'
import { definitionRoutes } from './operations/definitions/routes.ts'
import { evaluationRunRoutes } from './operations/evaluation-runs/routes.ts'
import { startDeriving } from './operations/evaluations/derive-behind.ts'
import { evaluationResultRoutes } from './operations/evaluations/results-routes.ts'
import { feedbackRoutes } from './operations/feedback/routes.ts'
import { fileRoutes } from './operations/files/routes.ts'
import { modelRoutes } from './operations/models/routes.ts'
import { objectRoutes } from './operations/objects/routes.ts'
import { otelRoutes } from './operations/otel/routes.ts'
import { priceRoutes } from './operations/prices/routes.ts'
import { queueRoutes } from './operations/queues/routes.ts'
import { tableRoutes } from './operations/tables/routes.ts'
import { tokenRoutes } from './operations/tokens/routes.ts'
import { createSchemaChecks } from './schemas/checks.ts'
import type { Database } from './storage/database.ts'
import { version } from './version.ts'

/** What the app is made of beside its settings. It owns none of it: who opened the record closes it. */
export interface Parts {
  database: Database
  /** Absent where no model is served. */
  backend?: Backend
  logger?: FastifyBaseLogger
  /** Fails on an answer that breaks its contract: for tests. */
  checkAnswers?: boolean
  /** How long a stream may be silent, and how long its client: for tests. */
  streams?: { keepAliveMs?: number; patienceMs?: number }
  /** Whether work goes on in the background. Off in tests that look at what the sweep would take away. */
  sweep?: boolean
}

/** As Fastify types them, they would be those of JSON Schema. */
type SchemaCompilers = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>

/** The whole app, ready to be asked. It never listens. */
export async function buildApp(config: Config, parts: Parts): Promise<App> {
  const { database } = parts
  // Given here, and not set afterwards: else Fastify loads compilers of JSON Schema that nobody asks.
  const compilersFactory = {
    buildValidator: () => checkAgainstContract,
    buildSerializer: () => writeAnswers(parts.checkAnswers ?? false),
  } as unknown as SchemaCompilers
  const app: App = Fastify({
    ...(parts.logger && { loggerInstance: parts.logger }),
    ...requestIds,
    bodyLimit: config.body_limit,
    connectionTimeout: config.connection_timeout,
    requestTimeout: config.request_timeout,
    keepAliveTimeout: config.keep_alive_timeout,
    // Node looks every half minute for who is too slow, unless told otherwise.
    http: {
      requireHostHeader: false,
      headersTimeout: config.headers_timeout,
      connectionsCheckingInterval: 1_000,
    },
    schemaController: { compilersFactory },
    routerOptions: { ignoreTrailingSlash: false, maxParamLength: 512 },
    // A request that arrives on a kept connection while the server stops gets its answer, and Connection: close.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    clientErrorHandler: answerFaults((refusal, reqId, err) =>
      app.log.debug({ reqId, err, code: refusal.code }, refusal.message),
    ),
    frameworkErrors: (error, request, reply) => {
      // Such a request reaches no hook.
      reply.header('x-request-id', request.id)
      sendRefusal(request, reply, asRefusal(error, request))
    },
  }).withTypeProvider<ContractTypes>()

  dropWhatFollows(app)
  limitPlainBodies(app)
  cutWhoTakesNothing(app, parts.streams?.patienceMs ?? usualPatienceMs)
  const metrics = measure(app)
  handleErrors(app)
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done()
  })
  refuseOddRequests(app)
  await app.register(underPressure, {
    maxEventLoopDelay: config.max_loop_delay,
    pressureHandler: async (request) => {
      if (!request.routeOptions.config.public) throw refuse('too_busy')
    },
  })
  await knowCallers(app, database, config.users)
  refuseUnknownRoutes(app)
  acceptJson(app, config.body_budget)
  const methods = noteMethods(app)
  if (config.docs) await describeRoutes(app, version)

  answerHealth(app, { database, backend: parts.backend, metrics, version })
  const schemas = createSchemaChecks()
  app.addHook('onClose', () => schemas.close())
  const options = { db: database, retentionDays: config.retention_days }
  for (const route of [
    ...callRoutes,
    ...otelRoutes,
    ...priceRoutes,
    ...queueRoutes,
    ...evaluationResultRoutes,
  ])
    await app.register(route, options)
  for (const route of [...objectRoutes, ...tableRoutes]) await app.register(route, { db: database, schemas })
  for (const route of fileRoutes) {
    await app.register(route, { db: database, fileLimit: config.file_limit })
  }
  for (const route of definitionRoutes) {
    await app.register(route, { db: database, refScheme: config.ref_scheme })
  }
  for (const route of evaluationRunRoutes) {
    await app.register(route, { ...options, schemas, refScheme: config.ref_scheme })
  }
  for (const route of feedbackRoutes) await app.register(route, { db: database, schemas })
  for (const route of modelRoutes) await app.register(route, { backend: parts.backend })
  const prompts = createPrompts()
  app.addHook('onClose', () => prompts.close())
  const compiling = createCompiling()
  app.addHook('onClose', () => compiling.close())
  const chat = {
    backend: parts.backend,
    prompts,
    compiling,
    settings: { priority: config.priority, requestTemplates: config.request_templates },
    metrics: parts.backend ? registerChatMetrics(metrics.registry, parts.backend) : noChatMetrics,
    ...parts.streams,
  }
  for (const route of chatRoutes) await app.register(route, chat)
  for (const route of completionRoutes) await app.register(route, chat)
  for (const route of tokenRoutes) await app.register(route, { tokens: chat })
  methods.refuseOthers()
  if (config.docs) await serveReference(app)

  if (parts.sweep !== false) {
    const sweep = startSweep(database, (error) =>
      app.log.error({ err: error }, 'the sweep could not free space'),
    )
    const deriving = startDeriving(database, (error) =>
      app.log.error({ err: error }, 'evaluation results could not be derived; whoever asks tries again'),
    )
    app.addHook('onClose', async () => {
      await sweep.stop()
      await deriving.stop()
    })
  }
  await app.ready()
  return app
}
