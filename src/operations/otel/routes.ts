import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { acceptBytes } from '../../http/bodies.ts'
import { answers } from '../../http/contracts.ts'
import { databaseOf } from '../../storage/database.ts'
import { family, type Operation } from '../parts.ts'
import { TracesAnswer } from './contract.ts'
import { projectHeader, takeSpans } from './intake.ts'
import { jsonAnswer } from './json.ts'
import { protobufContract, TracesGiven } from './traces-given.ts'

const protobuf = 'application/x-protobuf'

/** Batches of exporters are far smaller than this. */
const largestExport = 16 * 1024 * 1024

const traces: Operation = async (app, options) => {
  acceptBytes(app, protobuf, protobufContract, async () => {
    const { ProtobufGiven } = await import('./protobuf-given.ts')
    return ProtobufGiven
  })
  const answer = {
    description: 'The result, in the encoding of the request.',
    content: { 'application/json': { schema: TracesAnswer }, [protobuf]: { schema: TracesAnswer } },
  }
  const schema = {
    summary: 'Store OpenTelemetry spans as calls',
    description:
      'OTLP over HTTP, optionally compressed with gzip or deflate. The header project_id names the project of resources that do not name their own. The key may also be sent in the header wandb-api-key.',
    tags: ['calls'],
    consumes: ['application/json', protobuf],
    body: TracesGiven,
    response: answers(answer, 'invalid_value', 'malformed_protobuf', 'too_many_ids', 'unsupported_encoding'),
  }
  const config = { right: 'write_calls', compressed: true, keyHeader: 'wandb-api-key' } as const
  const bodyLimit = Math.min(app.initialConfig.bodyLimit ?? largestExport, largestExport)
  const take = async (
    request: FastifyRequest<{ Body: z.output<typeof TracesGiven> }>,
    reply: FastifyReply,
  ) => {
    const ingest = { ...options, db: databaseOf(request.caller.name, options.db) }
    const header = request.headers[projectHeader]
    const project = Array.isArray(header) ? header.join(',') : header
    const taken = await takeSpans(ingest, request.caller, request.body, project)
    if (!request.headers['content-type']?.toLowerCase().startsWith(protobuf)) return jsonAnswer(taken)
    const { protobufAnswer } = await import('./protobuf.ts')
    return reply.type(protobuf).send(Buffer.from(protobufAnswer(taken)))
  }
  app.post('/otel/v1/traces', { schema, config, bodyLimit }, take)
  // The path that exporters add when they are given only the address of the server.
  app.post('/v1/traces', { schema, config, bodyLimit }, take)
  // Where newer clients of Weave send the spans of agents.
  app.post('/agents/otel/v1/traces', { schema, config, bodyLimit }, take)
}

export const otelRoutes = family(traces)
