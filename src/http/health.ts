import { z } from 'zod'
import type { Database } from '../storage/database.ts'
import { type App, RefusalBody, refusing } from './contracts.ts'
import type { Metrics } from './metrics.ts'

/** A store that was well a moment ago is not asked again: the route is public. */
const freshMs = 1_000

/**
 * Two questions: is the process alive, and can it do its work (so that a load balancer may send requests). And for those
 * with credentials: how is it doing, and which one is it.
 */
export function answerHealth(app: App, database: Database, metrics: Metrics, version: string): void {
  app.get(
    '/health',
    {
      config: { public: true },
      schema: {
        summary: 'The process is alive',
        tags: ['service'],
        security: [],
        response: { 200: z.object({ status: z.literal('ok') }) },
      },
    },
    async () => ({ status: 'ok' }),
  )

  let asked: { at: number; probe: Promise<void> } | undefined
  app.get(
    '/ready',
    {
      config: { public: true },
      schema: {
        summary: 'The record can be read and written',
        tags: ['service'],
        security: [],
        response: { 200: z.object({ status: z.literal('ready') }), 500: RefusalBody, 503: RefusalBody },
      },
    },
    async () => {
      const now = performance.now()
      if (asked === undefined || now - asked.at > freshMs) asked = { at: now, probe: database.probe() }
      await asked.probe
      return { status: 'ready' }
    },
  )

  app.get(
    '/metrics',
    {
      config: { role: 'admin' },
      schema: {
        summary: 'Figures for Prometheus',
        tags: ['service'],
        response: {
          200: { description: 'Prometheus text', content: { 'text/plain': { schema: z.string() } } },
          ...refusing('role_forbidden'),
        },
      },
    },
    async (_request, reply) =>
      reply.type(metrics.registry.contentType).send(Buffer.from(await metrics.registry.metrics())),
  )

  app.get(
    '/server_info',
    {
      schema: {
        summary: 'Versions, as the clients of Weave ask for them before anything else',
        tags: ['service'],
        response: {
          200: z.object({
            min_required_weave_python_version: z
              .string()
              .meta({ description: 'An older client would stop tracing; every client may try.' }),
            trace_server_version: z.string(),
          }),
          ...refusing(),
        },
      },
    },
    async () => ({ min_required_weave_python_version: '0.0.0', trace_server_version: version }),
  )
}
