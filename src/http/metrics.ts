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
  const { counter, histogram, readGauge } = createMeters(registry)
  const requests = counter('http_requests_total', 'Requests answered.', 'method', 'route', 'status')
  const seconds = histogram(
    'http_request_seconds',
    'Time from the request to the end of its answer.',
    [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60],
    'route',
  )
  let running = 0
  readGauge('http_requests_running', 'Requests being processed.', [], () => [[{}, running]])
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

/** Values with their labels. */
type Values<Label extends string> = Iterable<readonly [labels: Record<Label, string>, value: number]>

/** Makes metrics under the prefix of this server. */
export function createMeters(registry: Registry) {
  const about = <Label extends string>(name: string, help: string, labelNames: Label[]) => ({
    name: `heddle_${name}`,
    help,
    labelNames,
    registers: [registry],
  })
  return {
    counter: <Label extends string = never>(name: string, help: string, ...labels: Label[]) =>
      new Counter<Label>(about(name, help, labels)),
    gauge: (name: string, help: string) => new Gauge(about(name, help, [])),
    histogram: <Label extends string = never>(
      name: string,
      help: string,
      buckets: number[],
      ...labels: Label[]
    ) => new Histogram<Label>({ ...about(name, help, labels), buckets }),
    /** Counts that are kept elsewhere, and read with the metrics. */
    readCounter<Label extends string>(
      name: string,
      help: string,
      labels: Label[],
      read: () => Values<Label>,
    ) {
      new Counter<string>({
        ...about<string>(name, help, labels),
        collect() {
          this.reset()
          for (const [labels, value] of read()) this.inc(labels, value)
        },
      })
    },
    /** The same for values that rise and fall. */
    readGauge<Label extends string>(name: string, help: string, labels: Label[], read: () => Values<Label>) {
      new Gauge<string>({
        ...about<string>(name, help, labels),
        collect() {
          this.reset()
          for (const [labels, value] of read()) this.set(labels, value)
        },
      })
    },
  }
}

export type Meters = ReturnType<typeof createMeters>
