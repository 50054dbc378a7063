import type { FastifyRequest } from 'fastify'
import { uncompressed } from '../../http/compression.ts'
import { answers } from '../../http/contracts.ts'
import { databaseOf } from '../../storage/database.ts'
import { family, type Operation } from '../parts.ts'
import { TracesAnswer, TracesBody } from './contract.ts'
import { projectHeader, takeSpans } from './intake.ts'
import { jsonAnswer, piecesOfJson } from './json.ts'

const protobuf = 'application/x-protobuf'

/** What exporters send at once is far below this. */
const largestExport = 16 * 1024 * 1024

const traces: Operation = async (app, options) => {
  app.addContentTypeParser(protobuf, { parseAs: 'buffer' }, (request: FastifyRequest, body: Buffer) =>
    uncompressed(request, body),
  )
  const answer = {
    description: 'In the encoding of the request.',
    content: { 'application/json': { schema: TracesAnswer }, [protobuf]: { schema: TracesAnswer } },
  }
  const schema = {
    summary: 'Spans of OpenTelemetry, each of which becomes a call',
    description:
      'OTLP over HTTP, in gzip or deflate if the client likes. The header project_id names the project of resources that do not name their own. A key may also come in the header wandb-api-key.',
    tags: ['calls'],
    consumes: ['application/json', protobuf],
    body: TracesBody,
    response: answers(answer, 'invalid_value', 'malformed_protobuf', 'too_many_ids', 'unsupported_encoding'),
  }
  const config = { compressed: true, keyHeader: 'wandb-api-key' }
  const bodyLimit = Math.min(app.initialConfig.bodyLimit ?? largestExport, largestExport)
  app.post('/otel/v1/traces', { schema, config, bodyLimit }, async (request, reply) => {
    const ingest = { ...options, db: databaseOf(request.caller.name, options.db) }
    const header = request.headers[projectHeader]
    const project = Array.isArray(header) ? header.join(',') : header
    const body: TracesBody | Uint8Array = request.body
    if (!(body instanceof Uint8Array)) {
      return jsonAnswer(await takeSpans(ingest, request.caller, piecesOfJson(body), project))
    }
    // Some 7 MB that a server without such clients need not hold.
    const { piecesOfProtobuf, protobufAnswer } = await import('./protobuf.ts')
    const taken = await takeSpans(ingest, request.caller, piecesOfProtobuf(body), project)
    return reply.type(protobuf).send(Buffer.from(protobufAnswer(taken)))
  })
}

export const otelRoutes = family(traces)
