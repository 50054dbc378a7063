import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace'
import { basic, keys } from '../support/app.ts'
import { startPostgres } from '../support/postgres.ts'
import { newFolder, type RunningServer, startServer } from '../support/server.ts'

/** Unmodified OpenTelemetry exporters against a real port. */

type Settings = ConstructorParameters<typeof ProtobufExporter>[0]

const exporters: [name: string, open: (settings: Settings) => SpanExporter][] = [
  ['protobuf', (settings) => new ProtobufExporter(settings)],
  ['JSON', (settings) => new JsonExporter(settings)],
]

const gzip = 'gzip' as NonNullable<Settings>['compression']

/** The given number of nanoseconds after 2026-01-02T03:04:05.123456789Z. */
const at = (nanoseconds: number): [number, number] => [1_767_323_045, 123_456_789 + nanoseconds]

interface Told {
  traceId: string
  ids: { turn: string; model: string; tool: string }
}

/** A turn in which the model calls a tool that fails. */
async function tellSpans(exporter: SpanExporter, resource: Record<string, string>): Promise<Told> {
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'shop', ...resource }),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  })
  const tracer = provider.getTracer('shop', '1.2.3')
  const turn = tracer.startSpan('turn', {
    startTime: at(0),
    attributes: { 'wandb.thread_id': 'talk', 'wandb.is_turn': true, 'wandb.display_name': 'Ask' },
  })
  const inTurn = trace.setSpan(ROOT_CONTEXT, turn)
  const model = tracer.startSpan(
    'chat small',
    {
      kind: SpanKind.CLIENT,
      startTime: at(1_000_000),
      attributes: {
        'gen_ai.request.model': 'small',
        'gen_ai.request.temperature': 0.25,
        'gen_ai.request.stop_sequences': ['a', 'b'],
        'gen_ai.input.messages': '[{"role": "user", "score": 1.0}]',
        'server.port': 443,
      },
      links: [{ context: turn.spanContext(), attributes: { why: 'asked' } }],
    },
    inTurn,
  )
  model.addEvent('first token', { index: 0 }, at(2_000_000))
  model.setAttributes({
    'gen_ai.output.messages': '[{"role":"assistant"}]',
    'gen_ai.usage.input_tokens': 12,
    'gen_ai.usage.output_tokens': 34,
  })
  model.setStatus({ code: SpanStatusCode.OK })
  model.end(at(3_000_000))
  const tool = tracer.startSpan(
    'execute_tool',
    {
      startTime: at(4_000_000),
      attributes: { 'gen_ai.tool.call.arguments': '{"city":"N\'Djamena"}', cached: false },
    },
    inTurn,
  )
  tool.recordException(new TypeError('no such city'), at(5_000_000))
  tool.setStatus({ code: SpanStatusCode.ERROR })
  tool.end(at(6_000_000))
  turn.end(at(7_000_000))
  await provider.forceFlush()
  await provider.shutdown()
  const idOf = (span: typeof turn) => span.spanContext().spanId
  return {
    traceId: turn.spanContext().traceId,
    ids: { turn: idOf(turn), model: idOf(model), tool: idOf(tool) },
  }
}

interface Found {
  attributes: { otel_span: { events: { attributes: Record<string, string> }[]; [field: string]: unknown } }
  [field: string]: unknown
}

async function foundCalls({ post }: RunningServer, project_id: string): Promise<Found[]> {
  const text = await (await post('/calls/stream_query', { project_id })).text()
  assert.match(text, /"score":1\.0\}/)
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** The fields that all three calls have in common. */
function recordOf(project_id: string, { traceId }: Told, fields: Record<string, unknown>) {
  return {
    project_id,
    display_name: null,
    trace_id: traceId,
    thread_id: null,
    turn_id: null,
    exception: null,
    inputs: {},
    output: null,
    svc_user_id: 'alice',
    svc_run_id: null,
    svc_run_step: null,
    svc_run_step_end: null,
    expire_at: null,
    deleted_at: null,
    storage_size_bytes: null,
    total_storage_size_bytes: null,
    wb_user_id: 'alice',
    wb_run_id: null,
    wb_run_step: null,
    wb_run_step_end: null,
    ...fields,
  }
}

async function assertTold(server: RunningServer, project: string, told: Told): Promise<void> {
  const { traceId, ids } = told
  const calls = await foundCalls(server, project)
  const withoutSpan = calls.map(({ attributes: { otel_span: _, ...attributes }, ...call }) => ({
    ...call,
    attributes,
  }))
  assert.deepEqual(withoutSpan, [
    recordOf(project, told, {
      id: ids.turn,
      parent_id: null,
      op_name: 'turn',
      display_name: 'Ask',
      thread_id: 'talk',
      turn_id: ids.turn,
      started_at: '2026-01-02T03:04:05.123456Z',
      ended_at: '2026-01-02T03:04:05.130456Z',
      attributes: { wandb: { thread_id: 'talk', is_turn: true, display_name: 'Ask' } },
      summary: { weave: { status: 'descendant_error', latency_ms: 7, display_name: 'Ask' } },
    }),
    recordOf(project, told, {
      id: ids.model,
      parent_id: ids.turn,
      op_name: 'chat small',
      started_at: '2026-01-02T03:04:05.124456Z',
      ended_at: '2026-01-02T03:04:05.126456Z',
      attributes: {
        gen_ai: {
          request: { model: 'small', temperature: 0.25, stop_sequences: ['a', 'b'] },
          usage: { input_tokens: 12, output_tokens: 34 },
        },
        server: { port: 443 },
      },
      inputs: { messages: [{ role: 'user', score: 1 }] },
      output: [{ role: 'assistant' }],
      summary: {
        usage: { small: { input_tokens: 12, output_tokens: 34 } },
        weave: { status: 'success', latency_ms: 2, trace_name: 'chat small' },
      },
    }),
    recordOf(project, told, {
      id: ids.tool,
      parent_id: ids.turn,
      op_name: 'execute_tool',
      started_at: '2026-01-02T03:04:05.127456Z',
      ended_at: '2026-01-02T03:04:05.129456Z',
      exception: 'no such city',
      attributes: { cached: false },
      inputs: { city: "N'Djamena" },
      summary: { weave: { status: 'error', latency_ms: 2, trace_name: 'execute_tool' } },
    }),
  ])

  const [, model, tool] = calls as [Found, Found, Found]
  const { flags: modelFlags, links, resource, ...span } = model.attributes.otel_span
  assert.ok(Number.isInteger(modelFlags))
  assert.deepEqual(span, {
    name: 'chat small',
    context: { trace_id: traceId, span_id: ids.model, trace_state: '' },
    kind: 'CLIENT',
    parent_id: ids.turn,
    start_time: '2026-01-02T03:04:05.124456Z',
    end_time: '2026-01-02T03:04:05.126456Z',
    start_time_unix_nano: '1767323045124456789',
    end_time_unix_nano: '1767323045126456789',
    status: { code: 'OK', message: '' },
    attributes: {
      'gen_ai.request.model': 'small',
      'gen_ai.request.temperature': 0.25,
      'gen_ai.request.stop_sequences': ['a', 'b'],
      'gen_ai.input.messages': '[{"role": "user", "score": 1.0}]',
      'server.port': 443,
      'gen_ai.output.messages': '[{"role":"assistant"}]',
      'gen_ai.usage.input_tokens': 12,
      'gen_ai.usage.output_tokens': 34,
    },
    dropped_attributes_count: 0,
    events: [
      {
        name: 'first token',
        time_unix_nano: '1767323045125456789',
        attributes: { index: 0 },
        dropped_attributes_count: 0,
      },
    ],
    dropped_events_count: 0,
    dropped_links_count: 0,
    scope: { name: 'shop', version: '1.2.3', attributes: {}, dropped_attributes_count: 0, schema_url: '' },
  })
  const [{ flags: linkFlags, ...link }] = links as [Record<string, unknown>]
  assert.ok(Number.isInteger(linkFlags))
  assert.deepEqual(link, {
    trace_id: traceId,
    span_id: ids.turn,
    trace_state: '',
    attributes: { why: 'asked' },
    dropped_attributes_count: 0,
  })
  assert.equal((resource as { attributes: Record<string, unknown> }).attributes['service.name'], 'shop')
  const { 'exception.stacktrace': stack = '', ...exception } =
    tool.attributes.otel_span.events[0]?.attributes ?? {}
  assert.deepEqual(exception, { 'exception.type': 'TypeError', 'exception.message': 'no such city' })
  assert.match(stack, /otel\.test\.ts/)
}

/** The ways to configure an exporter for the server. */
async function assertExports(t: TestContext, settings: Record<string, string>): Promise<void> {
  const server = await startServer(t, settings)
  const url = `${server.address}/otel/v1/traces`
  for (const [encoding, open] of exporters) {
    for (const [way, options, resource] of [
      ['resource', { headers: { authorization: basic(keys.alice) } }, true],
      ['header', { headers: { 'wandb-api-key': keys.alice, project_id: `acme/${encoding}-header` } }, false],
      ['gzip', { headers: { authorization: `Bearer ${keys.alice}` }, compression: gzip }, true],
    ] as [string, Settings, boolean][]) {
      const name = `${encoding}-${way}`
      await t.test(name, async () => {
        const told = await tellSpans(
          open({ url, ...options }),
          resource ? { 'wandb.entity': 'acme', 'wandb.project': name } : {},
        )
        await assertTold(server, `acme/${name}`, told)
      })
    }
  }
}

test('OpenTelemetry exporters write to a record on SQLite', async (t) => {
  await assertExports(t, { HEDDLE_DATA: await newFolder(t) })
})

test('OpenTelemetry exporters write to a record on PostgreSQL', async (t) => {
  const postgres = await startPostgres()
  t.after(() => postgres.stop())
  await assertExports(t, { HEDDLE_DATABASE_URL: await postgres.createDatabase() })
})

test('an exporter without permission to write is told why', async (t) => {
  const server = await startServer(t, { HEDDLE_DATA: await newFolder(t) })
  for (const [, open] of exporters) {
    const exporter = open({
      url: `${server.address}/otel/v1/traces`,
      headers: { authorization: basic(keys.bob), project_id: 'acme/qa' },
    })
    const provider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] })
    provider.getTracer('shop').startSpan('turn').end()
    await assert.rejects(provider.forceFlush(), ([error]: [{ code: number; data: string }]) => {
      assert.equal(error.code, 403)
      assert.deepEqual(JSON.parse(error.data), {
        reason: 'Your key has no access to the entity of project_id: "acme/qa".',
        code: 'entity_forbidden',
      })
      return true
    })
    await provider.shutdown()
  }
})
