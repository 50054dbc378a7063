import type { Registry } from '@prometheus-io/client'
import { clockNow } from '../../domain/clock.ts'
import { newId } from '../../domain/ids.ts'
import type { App } from '../contracts.ts'
import { whenClosed } from '../disconnect.ts'
import { createMeters } from '../metrics.ts'
import { type ModelAnswer, remoteSpanIn, type Span, spanBelow, spansOf, writtenSpan } from './spans.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What models answered to this request; absent if it is not traced. */
    modelAnswers?: ModelAnswer[]
    /** What servers behind models are to continue: the span of this request, or that of its client if it has none. */
    traceparent?: string
  }
}

interface Tracing {
  /** Where spans are sent; empty for nowhere. */
  url: string
  key: string
  version: string
  registry: Registry
}

/** More spans than this are dropped while the collector does not keep up. */
const maxWaiting = 2_048
const maxAtOnce = 512
const everyMs = 2_000
const answerMs = 5_000

/**
 * Sends a span of each request to a collector of OpenTelemetry, behind the answers: a collector that is slow or gone costs
 * spans, never a request.
 */
export function traceRequests(app: App, tracing: Tracing): void {
  app.decorateRequest('traceparent')
  if (tracing.url === '') {
    app.addHook('onRequest', (request, _reply, done) => {
      const parent = remoteSpanIn(request.headers.traceparent)
      if (parent) request.traceparent = writtenSpan(parent)
      done()
    })
    return
  }
  const agent = `heddle/${tracing.version} traces`
  const exporter = createExporter(app, tracing, agent)
  app.decorateRequest('modelAnswers')
  app.addHook('onRequest', (request, reply, done) => {
    const { headers, routeOptions } = request
    const parent = remoteSpanIn(headers.traceparent)
    // Spans about the delivery of spans would never end, where the collector is a Heddle.
    const isTraced =
      parent?.isSampled !== false && !routeOptions.config.probe && headers['user-agent'] !== agent
    if (isTraced) {
      const began = clockNow()
      const own = spanBelow(parent)
      request.modelAnswers = []
      request.traceparent = writtenSpan(own)
      whenClosed(reply, () => exporter.add(spansOf(request, reply, { parent, own, began })))
    } else if (parent) request.traceparent = writtenSpan(parent)
    done()
  })
  app.addHook('onClose', () => exporter.close())
}

function createExporter(app: App, { url, key, version, registry }: Tracing, agent: string) {
  const help =
    'Spans of requests, by outcome: sent, failed (the collector), or dropped because too many waited.'
  const counted = createMeters(registry).counter('trace_spans_total', help, 'outcome')
  const resource = {
    attributes: Object.entries({
      'service.name': 'heddle',
      'service.version': version,
      'service.instance.id': newId(),
    }).map(([name, stringValue]) => ({ key: name, value: { stringValue } })),
  }
  const headers = {
    'content-type': 'application/json',
    'user-agent': agent,
    ...(key !== '' && { authorization: `Bearer ${key}` }),
  }
  let waiting: Span[] = []
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<void> | undefined
  let hasFailed = false

  async function sendOnce(spans: Span[]): Promise<void> {
    const scopeSpans = [{ scope: { name: 'heddle', version }, spans }]
    const body = JSON.stringify({ resourceSpans: [{ resource, scopeSpans }] })
    try {
      const signal = AbortSignal.timeout(answerMs)
      const answer = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' })
      await answer.body?.cancel()
      if (!answer.ok) throw new Error(`it answers ${answer.status}`)
      counted.inc({ outcome: 'sent' }, spans.length)
      hasFailed = false
    } catch (error) {
      counted.inc({ outcome: 'failed' }, spans.length)
      if (!hasFailed) app.log.warn({ err: error }, 'the collector of traces does not accept spans')
      hasFailed = true
    }
  }

  async function send(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    while (waiting.length > 0) {
      const batch = waiting.slice(0, maxAtOnce)
      waiting = waiting.slice(maxAtOnce)
      await sendOnce(batch)
    }
  }

  const flush = () => {
    sending ??= send().finally(() => {
      sending = undefined
    })
    return sending
  }

  return {
    add(spans: Span[]): void {
      if (waiting.length + spans.length > maxWaiting) {
        counted.inc({ outcome: 'dropped' }, spans.length)
        return
      }
      waiting.push(...spans)
      if (waiting.length >= maxAtOnce) void flush()
      else timer ??= setTimeout(flush, everyMs).unref()
    },
    /** A collector that hangs holds up the end of the server for one answer. */
    async close(): Promise<void> {
      waiting = waiting.slice(-maxAtOnce)
      await flush()
    },
  }
}
