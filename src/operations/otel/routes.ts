import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { acceptBytes } from '../../http/bodies.ts'
import { answers } from '../../http/contracts.ts'
import { databaseOf } from '../../storage/database.ts'
import { family, inScope, type Operation, type OperationParts } from '../parts.ts'
import { createCallNames, matchesHeader } from '../recording/named-calls.ts'
import { LogsAnswer, MetricsAnswer, TracesAnswer } from './contract.ts'
import type { TelemetryIntake } from './intake.ts'
import { jsonAnswer, type PartialSuccess, projectHeader, type Signal } from './signals.ts'
import { LogsGiven, MetricsGiven, TracesGiven } from './traces-given.ts'

const protobuf = 'application/x-protobuf'

/** The names of the contracts of both encodings. */
const contracts = {
  traces: { json: 'TracesGiven', protobuf: 'TracesProtobuf' },
  logs: { json: 'LogsGiven', protobuf: 'LogsProtobuf' },
  metrics: { json: 'MetricsGiven', protobuf: 'MetricsProtobuf' },
} as const

/** Batches of exporters are far smaller than this. */
const largestExport = 16 * 1024 * 1024

interface Export<Body extends z.ZodType> {
  summary: string
  body: Body
  answer: z.ZodType
  take(
    intake: TelemetryIntake,
    caller: FastifyRequest['caller'],
    read: z.output<Body>,
    project: string | undefined,
  ): Promise<PartialSuccess>
}

function exportRoutes<Body extends z.ZodType>(
  signal: Signal,
  { summary, body, answer, take }: Export<Body>,
): Operation {
  return inScope(async (app, options) => {
    acceptBytes(app, protobuf, `operations/otel/protobuf#${contracts[signal].protobuf}`, async () => {
      const loaded = await import('./protobuf.ts')
      return loaded[contracts[signal].protobuf]
    })
    const result = {
      description: 'The result, in the encoding of the request.',
      content: { 'application/json': { schema: answer }, [protobuf]: { schema: answer } },
    }
    const schema = {
      summary,
      description:
        'OTLP over HTTP, optionally compressed with gzip or deflate. The header project_id names the project of resources that do not name their own. The key may also be sent in the header wandb-api-key.',
      tags: ['calls'],
      consumes: ['application/json', protobuf],
      body,
      response: answers(
        result,
        'invalid_value',
        'malformed_protobuf',
        'too_many_ids',
        'unsupported_encoding',
      ),
    }
    const config = {
      right: 'write_calls',
      compressed: true,
      keyHeader: 'wandb-api-key',
      contract: `operations/otel/traces-given#${contracts[signal].json}`,
    } as const
    const bodyLimit = Math.min(app.initialConfig.bodyLimit ?? largestExport, largestExport)
    const handler = async (request: FastifyRequest, reply: FastifyReply) => {
      const header = request.headers[projectHeader]
      const project = Array.isArray(header) ? header.join(',') : header
      const read = request.body as z.output<Body>
      const taken = await take(intakeOf(options, request, reply), request.caller, read, project)
      if (!request.headers['content-type']?.toLowerCase().startsWith(protobuf))
        return jsonAnswer(taken, signal)
      const { protobufAnswer } = await import('./protobuf.ts')
      return reply.type(protobuf).send(Buffer.from(protobufAnswer(taken, signal)))
    }
    app.post(`/otel/v1/${signal}`, { schema, config, bodyLimit }, handler)
    // The path that exporters add when they are given only the address of the server.
    app.post(`/v1/${signal}`, { schema, config, bodyLimit }, handler)
    // Where newer clients of Weave send the spans of agents.
    app.post(`/agents/otel/v1/${signal}`, { schema, config, bodyLimit }, handler)
  })
}

function intakeOf(options: OperationParts, { caller }: FastifyRequest, reply: FastifyReply) {
  const db = databaseOf(caller.name, options.db)
  const names = createCallNames({ db, settled: options.recorder.settled }, (matches) =>
    reply.header(matchesHeader, matches),
  )
  return { ...options, db, names }
}

export const otelRoutes = family(
  exportRoutes('traces', {
    summary: 'Store OpenTelemetry spans as calls',
    body: TracesGiven,
    answer: TracesAnswer,
    take: async (...asked) => (await import('./intake.ts')).takeSpans(...asked),
  }),
  exportRoutes('metrics', {
    summary: 'Accept OpenTelemetry metrics, which are not kept',
    body: MetricsGiven,
    answer: MetricsAnswer,
    take: async () => ({ rejected: 0, errorMessage: 'metrics are not kept' }),
  }),
  exportRoutes('logs', {
    summary: 'Store OpenTelemetry log records with their calls',
    body: LogsGiven,
    answer: LogsAnswer,
    take: async (...asked) => (await import('./intake.ts')).takeLogs(...asked),
  }),
)
