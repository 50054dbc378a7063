import { z } from 'zod'
import type { BackendStatus } from '../../packages/engine/index.ts'
import { answer } from '../domain/fields.ts'
import { Refusal, type RefusalCode, refuse } from '../domain/refusals.ts'
import type { Models } from '../inference/registry.ts'
import type { Database } from '../storage/database.ts'
import { type App, RefusalBody, refusalContracts, wireRoutes } from './contracts.ts'
import type { Metrics } from './metrics.ts'
import { logRefusal } from './request-log.ts'

const whyNot = {
  starting: 'it is being loaded, or the server behind it does not answer',
  failed: 'it cannot be served, the log has the reason',
}

/** A store that was healthy a moment ago is not checked again, because the route is public. */
const freshMs = 1_000

interface HealthParts {
  database: Database
  models: Models
  metrics: Metrics
  version: string
}

const route = wireRoutes('service', refusalContracts)
const count = z.int().min(0)

/** Only numbers, because the route is public. */
const Counts = z
  .object({ ready: count, unloaded: count, starting: count, failed: count })
  .optional()
  .describe('Where there are several: how many are in which state.')

function countOf(states: readonly BackendStatus['state'][]): z.output<typeof Counts> {
  const counts = { ready: 0, unloaded: 0, starting: 0, failed: 0 }
  for (const state of states) counts[state]++
  return counts
}

/** Sent after the record was checked. It does not say where anything is stored, because the route is public. */
const Ready = answer('Requests can be answered.', {
  status: z.literal('ready'),
  record: z.literal('ready'),
  model: z
    .enum(['ready', 'none'])
    .optional()
    .describe(
      '`ready` where one can be asked, which may be loaded for it; `none` where HEDDLE_MODEL says so; absent with ?part=record.',
    ),
  models: Counts,
})

const NotReady = RefusalBody.extend({
  record: z.literal('ready').optional(),
  model: z.enum(['starting', 'failed']).optional(),
  models: Counts,
})

/**
 * Liveness, and readiness (so that a load balancer may send requests). For those with credentials also details: how the
 * process is doing, and which process it is.
 */
export function answerHealth(app: App, { database, models, metrics, version }: HealthParts): void {
  app.get(
    '/health',
    {
      config: { public: true, probe: true },
      schema: {
        summary: 'The process is alive',
        tags: ['service'],
        security: [],
        response: { 200: answer('The process is alive.', { status: z.literal('ok') }) },
      },
    },
    async () => ({ status: 'ok' }),
  )

  let asked: { at: number; probe: Promise<void> } | undefined
  let lastCode: RefusalCode | undefined
  /** The probes themselves are logged at debug; the operator's log has only the changes. */
  const tell = (refusal: Refusal | undefined) => {
    if (refusal?.code === lastCode) return
    lastCode = refusal?.code
    if (refusal === undefined) app.log.info('the record is ready again')
    else logRefusal(app.log, refusal)
  }
  const probe = async () => {
    try {
      await database.probe()
      tell(undefined)
    } catch (error) {
      if (error instanceof Refusal && error.code !== 'stopping') tell(error)
      throw error
    }
  }
  app.get(
    '/ready',
    {
      config: { public: true, probe: true },
      schema: {
        summary: 'The record can be read and written, and the model answers',
        tags: ['service'],
        security: [],
        querystring: z.strictObject({
          part: z
            .literal('record')
            .optional()
            .describe('`record` asks for the record alone: it is there while a model is not.'),
        }),
        response: { 200: Ready, 422: RefusalBody, 500: RefusalBody, 503: NotReady },
      },
    },
    async ({ query }, reply) => {
      const now = performance.now()
      if (asked === undefined || now - asked.at > freshMs) asked = { at: now, probe: probe() }
      await asked.probe
      const states = models.all.map((model) => model.status().state)
      const counts = states.length > 1 ? { models: countOf(states) } : {}
      const model = states.includes('ready') || states.includes('unloaded') ? 'ready' : (states[0] ?? 'none')
      if (query.part === 'record') return { status: 'ready', record: 'ready', ...counts }
      if (model === 'ready' || model === 'none' || model === 'unloaded') {
        return { status: 'ready', record: 'ready', model: model === 'none' ? model : 'ready', ...counts }
      }
      const { message: reason, code } = refuse('model_not_ready', { why: whyNot[model] })
      return reply
        .code(503)
        .header('retry-after', '1')
        .send({ reason, code, record: 'ready', model, ...counts })
    },
  )

  const text = { description: 'Prometheus text', content: { 'text/plain': { schema: z.string() } } }
  const { config, schema } = route('scrape', 'Figures for Prometheus', text, {}, 'role_forbidden')
  app.get('/metrics', { config: { ...config, probe: true }, schema }, async (_request, reply) =>
    reply.type(metrics.registry.contentType).send(Buffer.from(await metrics.registry.metrics())),
  )

  const Version = answer('The version.', { version: z.string() })
  app.get('/version', route('own', 'The version of this server', Version, {}), async () => ({ version }))

  app.get(
    '/server_info',
    route('own', 'Versions, as the clients of Weave ask for them before anything else', ServerInfo, {}),
    async () => ({ min_required_weave_python_version: '0.0.0', trace_server_version: version }),
  )
}

const ServerInfo = answer('The versions.', {
  min_required_weave_python_version: z
    .string()
    .describe('An older client would stop tracing; every client may try.'),
  trace_server_version: z.string(),
})
