import { Registry } from '@prometheus-io/client'
import Fastify, { type FastifyBaseLogger, type FastifyServerOptions } from 'fastify'
import { bodyThread } from './body-contracts.ts'
import type { Config } from './config.ts'
import { Refusal } from './domain/refusals.ts'
import { laterFamilies } from './families.ts'
import { createTrustCheck } from './http/addresses.ts'
import { nameUnknownFields } from './http/answer-headers/ignored-fields.ts'
import { acceptJson } from './http/bodies.ts'
import { limitPlainBodies } from './http/body-limits.ts'
import { createBodyReader } from './http/body-reader.ts'
import { authenticateCallers } from './http/callers.ts'
import { nameDeployments, pathOf } from './http/clients/targets.ts'
import { type App, type ContractTypes, checkAnswers, writeAnswers } from './http/contracts.ts'
import { allowOrigins } from './http/cross-origin/origins.ts'
import { endConnectionsOnClose, followDisconnects } from './http/disconnect.ts'
import { asRefusal, handleErrors, logError, sendRefusal, wireOf } from './http/errors.ts'
import { answerFaults, refuseOddRequests } from './http/faults.ts'
import { answerHealth } from './http/health.ts'
import { type Limits, limitUsers } from './http/limits.ts'
import { ignoreLaterRequests } from './http/lingering.ts'
import { refuseUnknownRoutes } from './http/methods.ts'
import { createHttpMetrics } from './http/metrics.ts'
import { refuseWhenOverloaded } from './http/overload.ts'
import { servePage } from './http/page/assets.ts'
import { rootOf } from './http/page/session-cookie.ts'
import { answerSessions, createPageSessions } from './http/page/sessions.ts'
import { queuePipelinedRequests } from './http/pipelining.ts'
import { describeRoutes } from './http/reference/serve.ts'
import { requestIds } from './http/request-ids.ts'
import { createRequestLogController, logCallerNames, logRefusal, logRequests } from './http/request-log.ts'
import type { People } from './http/sign-in/people.ts'
import { type StreamTimes, setStreamTimes } from './http/streams/sse.ts'
import { disconnectStalledClients } from './http/streams/stalled-clients.ts'
import { takeTurnsByTenant } from './http/tenant-turns.ts'
import { traceRequests } from './http/traces/tracing.ts'
import { checkAgainstContract } from './http/validation.ts'
import { createCompiling } from './inference/constraints/compiling.ts'
import { createModels, type Models } from './inference/registry.ts'
import { startAlerts } from './operations/alerts/delivering.ts'
import { createWebhooks, type WebhookOptions } from './operations/alerts/webhooks.ts'
import type { BackgroundWork } from './operations/background.ts'
import type { FindCaller } from './operations/background-asking.ts'
import { startBatches } from './operations/batches/carrying.ts'
import { createBudgets, registerBudgetMetrics } from './operations/budgets/spending.ts'
import { startBackfill } from './operations/calls/backfill.ts'
import { startCold } from './operations/calls/cold.ts'
import { startSums } from './operations/calls/sums.ts'
import { startSweep } from './operations/calls/sweep.ts'
import { chatAsking } from './operations/chat/asking.ts'
import { startDeriving, startStoringColumns } from './operations/evaluations/behind-the-writes.ts'
import { createEventHub } from './operations/events/hub.ts'
import { uploadRoutes } from './operations/files/routes.ts'
import { routeTable } from './operations/generated/route-table.ts'
import { registerGenerationMetrics } from './operations/generation/metrics.ts'
import { createRunningAnswers } from './operations/generation/running.ts'
import { declareLater } from './operations/later-routes.ts'
import { mcpRoutes } from './operations/mcp/routes.ts'
import { startJudging } from './operations/monitors/judging.ts'
import { startRuns } from './operations/monitors/old-calls.ts'
import { otelRoutes } from './operations/otel/routes.ts'
import type { OperationParts } from './operations/parts.ts'
import { startRedactingEarlier } from './operations/projects/earlier-texts.ts'
import { createProjects } from './operations/projects/settings.ts'
import { createNamedPrompts } from './operations/prompts/named-prompts.ts'
import { recordingEvents, registerRecord } from './operations/recording/events.ts'
import { createRecorder, type OpenedRecorder } from './operations/recording/recorder.ts'
import { startWaitingResponses } from './operations/responses/background/carrying.ts'
import { createSealing } from './operations/sealing.ts'
import { startServedRuns } from './operations/served-runs/carrying.ts'
import { startShadowing } from './operations/shadows/asking.ts'
import { countRequests, createUsageMeter, startFlushing, type UsageMeter } from './operations/usage/meter.ts'
import { startSharingLimits } from './operations/usage/share-limits.ts'
import { startIndexing } from './operations/views/index-in-background.ts'
import { wireFileRoutes } from './operations/wire-files/routes.ts'
import { createSchemaChecks } from './schemas/checks.ts'
import type { Database } from './storage/database.ts'
import { createRedacting } from './storage/redaction/redaction.ts'
import { version } from './version.ts'

/** The parts of the app besides its settings. The app owns none of them: the code that opened the record closes it. */
export interface Parts {
  database: Database
  /** Absent if no model is served. */
  models?: Models
  logger?: FastifyBaseLogger
  /** For tests: fails on an answer that breaks its contract. */
  checkAnswers?: boolean
  /** For tests: shorter times of event streams. */
  streams?: Partial<StreamTimes>
  /** Whether background work runs. Off in tests that look at what the sweep would remove. */
  sweep?: boolean
  /** For tests: how names are resolved, and shorter times. */
  webhooks?: Partial<WebhookOptions>
}

/** Fastify's own types for these assume JSON Schema. */
type SchemaCompilers = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>

/** Families that accept bodies of a type of their own, or load themselves. */
const families = [otelRoutes, uploadRoutes, wireFileRoutes, mcpRoutes]

/** Builds the whole app, ready for requests. It does not listen. */
export async function buildApp(config: Config, services: Parts): Promise<App> {
  const { database } = services
  // Passed here and not set later, because otherwise Fastify loads JSON Schema compilers that are never used.
  const compilersFactory = {
    buildValidator: () => checkAgainstContract,
    buildSerializer: () => writeAnswers,
  } as unknown as SchemaCompilers
  const trusts = createTrustCheck(config.trust_proxy)
  const app: App = Fastify({
    ...(services.logger && { loggerInstance: services.logger }),
    logController: createRequestLogController(logError),
    ...requestIds,
    trustProxy: trusts,
    bodyLimit: config.body_limit,
    connectionTimeout: config.connection_timeout,
    requestTimeout: config.request_timeout,
    keepAliveTimeout: config.keep_alive_timeout,
    // By default Node looks for connections that are too slow only every half minute.
    http: {
      requireHostHeader: false,
      headersTimeout: config.headers_timeout,
      connectionsCheckingInterval: 1_000,
    },
    schemaController: { compilersFactory },
    rewriteUrl: pathOf,
    routerOptions: { ignoreTrailingSlash: false, maxParamLength: 512 },
    // A request that arrives on a keep-alive connection while the server stops gets its answer, with Connection: close.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // The error itself contains the bytes that arrived, and with them the key.
    clientErrorHandler: answerFaults((refusal, reqId, { code: fault }) =>
      app.log.debug({ reqId, fault, code: refusal.code }, refusal.message),
    ),
    frameworkErrors: (error, request, reply) => {
      // Such a request reaches no hook.
      reply.header('x-request-id', request.id)
      sendRefusal(request, reply, asRefusal(error, request))
    },
  }).withTypeProvider<ContractTypes>()

  if (services.checkAnswers) checkAnswers(app)
  endConnectionsOnClose(app)
  followDisconnects(app)
  allowOrigins(app, config.cors_origins)
  queuePipelinedRequests(app)
  ignoreLaterRequests(app)
  limitPlainBodies(app)
  disconnectStalledClients(app, setStreamTimes(app, services.streams).stallTimeoutMs)
  const metrics = createHttpMetrics(app)
  logRequests(app)
  const { traces_to: url, traces_key: key } = config
  traceRequests(app, { url, key, version, registry: metrics.registry })
  handleErrors(app)
  app.addHook('onRequest', (request, reply, done) => {
    // No browser guesses that bytes, or a text that repeats what was sent, are a page.
    reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff')
    // The header name that Anthropic's SDKs know.
    if (wireOf(request) === 'anthropic') reply.header('request-id', request.id)
    done()
  })
  refuseOddRequests(app)
  await refuseWhenOverloaded(app, config.max_loop_delay)
  const sessions = createPageSessions(database)
  const people = config.oidc === '' ? undefined : await openSignIn(app, config, database)
  const { signIn, callerOfHash } = await authenticateCallers(app, database, config, trusts, sessions, people)
  logCallerNames(app)
  const usage = createUsageMeter(database)
  countRequests(app, usage)
  const limits = limitUsers(app, usage.refused)
  takeTurnsByTenant(app)
  refuseUnknownRoutes(app)
  const bodies = createBodyReader(bodyThread)
  app.addHook('onClose', () => bodies.close())
  acceptJson(app, config.body_budget, bodies)
  nameDeployments(app)
  nameUnknownFields(app, config.unknown_fields === 'refuse')
  const described = config.docs ? describeRoutes(app, version) : undefined

  const models = services.models ?? createModels([])
  answerHealth(app, { database, models, metrics, version })
  if (config.page) {
    servePage(app, rootOf(config.public_url))
    answerSessions(app, { db: database, sessions, version, signIn, people, settings: config })
    if (people !== undefined) await serveSignIn(app, config, database, people)
  }
  const operations = openOperations(
    app,
    config,
    { ...services, models, limits, usage, callerOfHash },
    metrics.registry,
  )
  const openings = Object.entries(laterFamilies).map(([family, load]) =>
    declareLater(app, routeTable[family as keyof typeof laterFamilies], async () => {
      const declare = await load()
      return (collector) => declare(collector, operations)
    }),
  )
  app.decorate('loadRoutes', () => Promise.all(openings.map((open) => open())))
  for (const declare of families) await declare(app, operations)
  described?.serveReference()
  await app.ready()
  return app
}

/** Loaded only where there are identity providers. */
async function openSignIn(app: App, config: Config, database: Database): Promise<People> {
  const { openPeople } = await import('./http/sign-in/people.ts')
  return openPeople(config, database, app.log)
}

async function serveSignIn(app: App, { public_url }: Config, db: Database, people: People): Promise<void> {
  const { answerSignIn } = await import('./http/sign-in/routes.ts')
  answerSignIn(app, { db, people, seals: createSealing(db), publicUrl: public_url })
}

/** Opens what the operations share and the background work, and closes both with the app. */
function openOperations(
  app: App,
  config: Config,
  services: Parts & { models: Models; limits: Limits; usage: UsageMeter; callerOfHash: FindCaller },
  registry: Registry,
): OperationParts {
  const { database, models, limits, usage } = services
  const schemas = createSchemaChecks()
  const redacting = createRedacting()
  const constraints = createCompiling({ unknownKeywords: config.unknown_keywords })
  const flushing = startFlushing(usage, logging(app, 'usage could not be stored; the next attempt adds it'))
  const budgets = createBudgets({
    db: database,
    metrics: registerBudgetMetrics(models.all.length > 0 ? registry : new Registry()),
    refused: usage.refused,
    warned: (state) => app.log.warn(state, 'a budget is nearly used up'),
  })
  registerRecord(registry, database)
  const projects = createProjects(database, { retentionDays: config.retention_days })
  const events = recordingEvents(
    models.all.length > 0 ? registry : new Registry(),
    app.log,
    () => recorder.waiting,
  )
  const recorder: OpenedRecorder = createRecorder({
    db: database,
    record: config.record,
    retentionOf: projects.retentionDays,
    events,
  })
  app.addHook('onClose', async () => {
    await recorder.close()
    for (const work of background) await work.stop()
    await budgets.close().catch(logging(app, 'what answers have cost could not be stored'))
    await flushing.stop()
    await Promise.all([schemas.close(), constraints.close(), redacting.close()])
  })
  const hub = createEventHub(database, models)
  // An open stream keeps its connection open, and the app would not close.
  app.addHook('preClose', async () => hub.close())
  const operations: OperationParts = {
    db: database,
    events: hub,
    chats: chatAsking,
    prompts: createNamedPrompts(),
    schemas,
    constraints,
    redacting,
    projects,
    responseDays: config.response_days,
    fileLimit: config.file_limit,
    batchLines: config.batch_lines,
    refScheme: config.ref_scheme,
    sealing: createSealing(database),
    webhooks: createWebhooks(config.webhook_allow, registry, services.webhooks),
    models,
    settings: {
      priority: config.priority,
      requestTemplates: config.request_templates,
      toolChoice: config.tool_choice,
      promptSharing: config.prompt_sharing,
      requestMetrics: config.request_metrics,
    },
    recorder,
    budgets,
    running: createRunningAnswers(),
    metrics: registerGenerationMetrics(models.all.length > 0 ? registry : new Registry(), models),
    usage,
    mcp: config.mcp,
    people: config.users.map(({ name, entities }) => ({ name, entities })),
    charge(caller, tokens) {
      limits.spendTokens(caller, tokens.prompt + tokens.completion)
      usage.spent(caller.name, tokens)
    },
  }
  const background =
    services.sweep === false
      ? []
      : [
          ...startBackground(app, config, operations, limits),
          ...startCold(
            database,
            { afterDays: config.cold_after, registry },
            logging(
              app,
              'older calls could not be moved to the store of cold calls; the next attempt continues',
            ),
          ),
        ]
  const asking = services.sweep === false ? [] : startAsking(app, config, operations, services.callerOfHash)
  // What they ask are requests of this app, which otherwise waits for them before it stops its background work.
  app.addHook('preClose', async () => {
    app.waits.isStopping = true
    await Promise.all(asking.map((work) => work.stop()))
  })
  return operations
}

const logging = (app: App, message: string) => (error: unknown) => {
  if (error instanceof Refusal) logRefusal(app.log.child({ work: message }), error)
  else app.log.error({ err: error }, message)
}

function startBackground(
  app: App,
  config: Config,
  operations: OperationParts,
  limits: Limits,
): BackgroundWork[] {
  const { db } = operations
  return [
    startSweep(db, logging(app, 'the sweep could not free space')),
    startBackfill(
      db,
      logging(app, 'older calls could not be prepared for lists; the next attempt continues'),
    ),
    startSums(db, logging(app, 'sums of calls could not be kept; until they are, counts read the calls')),
    startIndexing(
      db,
      config.search,
      logging(app, 'calls could not be indexed for the search; the next attempt continues'),
    ),
    startDeriving(db, logging(app, 'evaluation results could not be derived; their next read tries again')),
    startStoringColumns(
      db,
      logging(app, 'columns of evaluations could not be stored; until they are, queries read the trials'),
    ),
    startSharingLimits(db, limits, logging(app, 'limits could not be counted together with other servers')),
    operations.budgets.start(
      logging(app, 'what answers may cost could not be renewed; the next attempt does'),
    ),
    startRedactingEarlier(
      operations,
      logging(app, 'texts that were stored before could not be redacted; the next attempt continues'),
    ),
    startRuns(db, logging(app, 'old calls for monitors could not be found; the next attempt continues')),
    ...startAlerts(operations, logging(app, 'alerts could not be sent; they stay in the outbox')),
    startServedRuns(operations, logging(app, 'an evaluation run could not continue; the next attempt does')),
    startShadowing(
      operations,
      logging(app, 'shadows of labels could not be asked; their pairs keep waiting'),
    ),
    ...startJudging(
      operations,
      logging(app, 'judgements could not be made; they stay pending and are tried again'),
    ),
  ]
}

/** Background work that asks requests of this app. */
function startAsking(app: App, config: Config, operations: OperationParts, findCaller: FindCaller) {
  const parallel = config.batch_parallel
  return [
    startBatches(
      app,
      operations,
      { parallel, findCaller },
      logging(app, 'a batch could not continue; the next attempt does'),
    ),
    ...startWaitingResponses(
      app,
      operations,
      { parallel, findCaller },
      logging(app, 'a response in the background could not be answered; it is asked again'),
    ),
  ]
}
