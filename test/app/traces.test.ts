import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { refuse } from '../../src/domain/refusals.ts'
import type { Span } from '../../src/http/traces/spans.ts'
import { basic, keys, openApp } from '../support/app.ts'
import { modelsOfUpstream, startFakeUpstream, streamWords } from '../support/fake-upstream.ts'
import { prefilled, scriptedBackend, scriptOf } from '../support/scripted-backend.ts'

interface Delivery {
  authorization: string | undefined
  agent: string | undefined
  text: string
}

/** A collector that answers with this status, and what it was sent. */
async function collecting(t: { after(close: () => unknown): void }, status = 200) {
  const deliveries: Delivery[] = []
  const server = createServer(async (request, response) => {
    const { authorization, 'user-agent': agent } = request.headers
    deliveries.push({ authorization, agent, text: await text(request) })
    response.writeHead(status).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const spans = () => deliveries.flatMap((delivery) => spansIn(delivery.text))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`, deliveries, spans }
}

const spansIn = (body: string): Span[] =>
  (JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }).resourceSpans.flatMap(
    ({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans),
  )

const valuesOf = ({ attributes }: Span) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0] as string]))

const trace = '0af7651916cd43dd8448eb211c80319c'
const parent = 'b7ad6b7169203331'

test('a request is a span that continues the one of its client, and has the answer of the model below it', async (t) => {
  const { url, deliveries, spans } = await collecting(t)
  const settings = { HEDDLE_TRACES_TO: url, HEDDLE_TRACES_KEY: 'collector-key' }
  const backend = scriptedBackend(scriptOf('ab'))
  const { app, get } = await openApp(t, { settings, backend })
  const ask = (headers: Record<string, string>) =>
    app.inject({
      method: 'POST',
      url: '/v1/completions',
      headers: { authorization: basic(keys.alice), ...headers },
      payload: { prompt: 'a secret of the prompt' },
    })
  const answered = await ask({ traceparent: `00-${trace}-${parent}-01` })
  await get('/me')
  backend.script = function* (request) {
    yield prefilled(request)
    throw refuse('engine_failed', { why: 'killed' })
  }
  assert.equal((await ask({ traceparent: 'nonsense' })).statusCode, 503)
  await ask({ traceparent: `00-${trace}-${parent}-00` })
  for (const probe of ['/health', '/ready', '/metrics']) await get(probe, keys.root)
  await app.close()

  const [whole, model, me, failed, ...rest] = spans()
  assert.ok(whole && model && me && failed)
  assert.deepEqual([whole.traceId, whole.parentSpanId, whole.kind], [trace, parent, 2])
  assert.equal(whole.name, 'POST /v1/completions')
  const values = valuesOf(whole)
  assert.equal(values['http.response.status_code'], '200')
  assert.equal(values['user.name'], 'alice')
  assert.equal(values['heddle.call_id'], answered.headers['x-heddle-call-id'])
  assert.equal(values['heddle.request_id'], answered.headers['x-request-id'])
  assert.deepEqual([model.traceId, model.parentSpanId, model.name], [trace, whole.spanId, 'ask scripted'])
  assert.equal(valuesOf(model)['gen_ai.usage.output_tokens'], '2')
  assert.deepEqual(
    model.events?.map(({ name }) => name),
    ['prefilled', 'first_token'],
  )
  assert.ok(BigInt(model.endTimeUnixNano) <= BigInt(whole.endTimeUnixNano))
  assert.ok(BigInt(whole.startTimeUnixNano) <= BigInt(whole.endTimeUnixNano))
  assert.equal(me.name, 'GET /me')
  assert.ok(me.parentSpanId === undefined && me.traceId !== trace && /^[\da-f]{32}$/.test(me.traceId))
  assert.deepEqual([failed.status, valuesOf(failed)['error.type']], [{ code: 2 }, '503'])
  assert.deepEqual(
    rest.map((span) => [span.name, span.status.code, valuesOf(span)['error.type']]),
    [['ask scripted', 2, 'engine_failed']],
    'neither probes nor what the client does not sample',
  )
  assert.ok(deliveries.every(({ authorization }) => authorization === 'Bearer collector-key'))
  assert.ok(deliveries.every((delivery) => !/secret of the prompt|hdl_|alice-key/.test(delivery.text)))
})

test('deliveries of spans are no spans, and a collector that refuses or is gone costs no request', async (t) => {
  for (const url of [(await collecting(t, 500)).url, 'http://127.0.0.1:9/v1/traces']) {
    const { get } = await openApp(t, { settings: { HEDDLE_TRACES_TO: url } })
    assert.equal((await get('/me')).status, 200)
    assert.equal((await get('/me')).status, 200)
  }
  const { url, deliveries, spans } = await collecting(t)
  const { app, get } = await openApp(t, { settings: { HEDDLE_TRACES_TO: url } })
  await get('/me')
  await app.close()
  const agent = deliveries[0]?.agent ?? ''
  const other = await collecting(t)
  const self = await openApp(t, { settings: { HEDDLE_TRACES_TO: other.url } })
  const headers = { 'user-agent': agent, authorization: basic(keys.alice) }
  await self.app.inject({ method: 'POST', url: '/v1/traces', headers, payload: { resourceSpans: [] } })
  await self.app.close()
  assert.deepEqual([spans().length, other.spans().length], [1, 0])
})

test('without an address nothing is traced', async (t) => {
  const { app, get } = await openApp(t)
  await get('/me')
  assert.doesNotMatch((await get('/metrics', keys.root)).text, /heddle_trace_spans/)
  assert.equal(app.hasRequestDecorator('modelAnswers'), false)
})

/** What a server behind a model is sent as traceparent, for requests with these headers. */
async function continued(t: Parameters<typeof openApp>[0], settings: Record<string, string>) {
  const upstream = await startFakeUpstream(t, (response, asked) => {
    if (asked.url.endsWith('/chat/completions')) return streamWords('Hi')(response, asked)
    const data = [{ index: 0, embedding: [1, 0] }]
    const answers = [{ type: 'predicate', probability: 0.5 }]
    const usage = { prompt_tokens: 1, input_tokens: 1, total_tokens: 1 }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ data, answers, usage }))
  })
  const { app } = await openApp(t, { settings, models: await modelsOfUpstream([upstream.url]) })
  async function ask(header?: string, url = '/v1/chat/completions'): Promise<string | undefined> {
    const answered = await app.inject({
      method: 'POST',
      url,
      headers: { authorization: basic(keys.alice), ...(header && { traceparent: header }) },
      payload: {
        ...(url.endsWith('embeddings') || url.endsWith('decisions') ? { input: 'x' } : {}),
        ...(url.endsWith('decisions') && { questions: [{ type: 'predicate', instructions: 'Is it?' }] }),
        ...(url.endsWith('completions') && { messages: [{ role: 'user', content: 'x' }] }),
      },
    })
    assert.equal(answered.statusCode, 200, answered.body)
    const sent = upstream.asked.at(-1)?.headers.traceparent
    return Array.isArray(sent) ? sent.join() : sent
  }
  return { app, ask, upstream }
}

test('a server behind a model continues the span of the client, where this one has none', async (t) => {
  const { ask, upstream } = await continued(t, {})
  const header = `00-${trace}-${parent}-01`
  for (const url of ['/v1/chat/completions', '/v1/embeddings', '/v1/decisions']) {
    assert.equal(await ask(header, url), header, url)
  }
  assert.equal(await ask(`00-${trace}-${parent}-00`), `00-${trace}-${parent}-00`)
  // What a later version appends is not passed on; what cannot be read is not either.
  assert.equal(await ask(`cc-${trace}-${parent}-01-more`), header)
  assert.equal(await ask('nonsense'), undefined)
  assert.equal(await ask(), undefined)
  assert.ok(upstream.looks.every(({ headers }) => headers.traceparent === undefined))
})

test('a server behind a model continues the span of the request, where that is traced', async (t) => {
  const { url, spans } = await collecting(t)
  const { app, ask } = await continued(t, { HEDDLE_TRACES_TO: url })
  const [below, own] = [await ask(`00-${trace}-${parent}-01`), await ask()]
  assert.equal(await ask(`00-${trace}-${parent}-00`), `00-${trace}-${parent}-00`)
  await app.close()
  const servers = spans().filter(({ kind }) => kind === 2)
  assert.deepEqual(
    servers.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`),
    [below, own],
  )
  assert.deepEqual([servers[0]?.traceId, servers[0]?.parentSpanId], [trace, parent])
  assert.deepEqual([servers[1]?.parentSpanId, servers[1]?.traceId === trace], [undefined, false])
})
