import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client'
import type { App } from './contracts.ts'
import { whenClosed } from './disconnect.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly requestsRunning: number
  }
}

export interface Metrics {
  registry: Registry
}

/** Every label has few values: routes as they are declared, never the URLs that were requested. */
export function createHttpMetrics(app: App): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const labelNames = ['method', 'route', 'status'] as const
  const requests = new Counter({
    name: 'heddle_http_requests_total',
    help: 'Requests answered.',
    labelNames,
    registers: [registry],
  })
  const seconds = new Histogram({
    name: 'heddle_http_request_seconds',
    help: 'Time from the request to the end of its answer.',
    labelNames: ['route'] as const,
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60],
    registers: [registry],
  })
  let running = 0
  new Gauge({
    name: 'heddle_http_requests_running',
    help: 'Requests being processed.',
    registers: [registry],
    collect() {
      this.set(running)
    },
  })
  app.decorate('requestsRunning', { getter: () => running })

  app.addHook('onRequest', (request, reply, done) => {
    running++
    whenClosed(reply, () => {
      running--
      const route = request.routeOptions.url ?? 'none'
      const status = reply.raw.writableEnded ? String(reply.statusCode) : 'left'
      requests.inc({ method: request.method, route, status })
      seconds.observe({ route }, reply.elapsedTime / 1000)
    })
    done()
  })
  return { registry }
}
