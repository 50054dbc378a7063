import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { keptJson } from '../../packages/json/index.ts'
import { inSteps } from '../../packages/waiting/index.ts'
import { JsonText } from '../domain/json/text.ts'
import { Refusal, refuse } from '../domain/refusals.ts'
import { limitBodies } from './body-budget.ts'
import { maxInlineBytes } from './body-limits.ts'
import type { BodyReader, LargeBody } from './body-reader.ts'
import { freeChunk } from './chunks.ts'
import { encodingOf, uncompressed } from './compressed-bodies.ts'
import { DisconnectError } from './disconnect.ts'
import { apiOf } from './errors.ts'
import { type BodyExclusions, readText, textOf } from './read-body.ts'
import { CheckedBody, parseOrRefuse } from './validation.ts'

declare module 'fastify' {
  interface FastifyInstance {
    bodyReader: BodyReader
  }
  interface FastifyRequest {
    /** The JSON of the body as it was sent, on routes that keep it. */
    keptBody: BodyText
  }
  interface FastifyContextConfig {
    keepsBody?: BodyExclusions
    /** Its bodies may name a prompt, which is put into them. */
    namesPrompt?: true
  }
}

interface BodyText {
  /** Approximately. */
  bytes: number
  json(): JsonText
  /** All of it, on routes whose bodies may name a prompt; until it is validated. */
  sent?: () => string
}

/**
 * Accepts JSON, bounded in size and depth, and in the total of all bodies. Values that a contract keeps as text arrive
 * as text.
 */
export function acceptJson(app: FastifyInstance, budget: number, reader: BodyReader): void {
  app.decorate('bodyReader', reader)
  app.removeAllContentTypeParsers()
  limitBodies(app, budget)
  takeMissingTypesForJson(app)
  app.decorateRequest('keptBody')
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: Readable) => {
    const body = await bodyOf(request, payload)
    const contract = request.routeOptions.schema?.body as z.ZodType | undefined
    const { keepsBody, namesPrompt, contract: name = '' } = request.routeOptions.config
    // Python's openai sends a content type even without a body, such as for DELETE.
    if (contract === undefined && body.length === 0) return undefined
    if (Buffer.isBuffer(body)) {
      const text = textOf(body)
      if (keepsBody) {
        const json = () => new JsonText(keptJson(text, keepsBody.without))
        request.keptBody = { bytes: text.length, json, ...(namesPrompt && { sent: () => text }) }
      }
      return readText(text, contract)
    }
    // A route without a contract for its body ignores it.
    if (contract === undefined) return undefined
    const read = await reader.read(request.caller.name, name, body, keepsBody)
    const { shared } = read
    if (shared) request.keptBody = { bytes: shared.length, json: () => new JsonText(shared) }
    if (namesPrompt) {
      request.keptBody ??= { bytes: body.length, json: () => new JsonText('{}') }
      request.keptBody.sent = () =>
        Buffer.concat(
          body.segments.map((segment) => Buffer.from(segment)),
          body.length,
        ).toString()
    }
    return read.body
  })
}

/** Reads another text in place of a body: in this thread if it is short. */
export async function reread(request: FastifyRequest, text: string): Promise<unknown> {
  const contract = request.routeOptions.schema?.body as z.ZodType
  const bytes = Buffer.from(text)
  if (bytes.length <= maxInlineBytes) return readText(text, contract)
  const { bodyReader: reader } = request.server
  const large = createLargeBody()
  await inSteps(segmentsOf(bytes), large.add)
  return (await reader.read(request.caller.name, request.routeOptions.config.contract ?? '', large.body()))
    .body
}

/**
 * On routes of the record, and of Ollama, a body without a content type is JSON: W&B's Python client sends its bodies
 * so. Another type stays a refusal.
 */
function takeMissingTypesForJson(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request.raw
    if (isMissingType(request) && takesOnlyJson(request) && !isFromPage(request))
      headers['content-type'] = 'application/json'
    done()
  })
}

/** The examples of Ollama are of curl, which names the type of forms unless told otherwise. */
function isMissingType({ url, raw: { headers } }: FastifyRequest): boolean {
  const type = headers['content-type']
  return type === undefined || (type === 'application/x-www-form-urlencoded' && apiOf(url) === 'ollama')
}

/** Whether the request has a body for a route of the record, or of Ollama, that accepts nothing but JSON. */
function takesOnlyJson({ url, raw: { headers }, routeOptions: { schema, config } }: FastifyRequest): boolean {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  return (
    hasBody && ['record', 'ollama'].includes(apiOf(url)) && schema?.consumes === undefined && !config.form
  )
}

/**
 * Whether a page sent the request. A browser adds the name and key that it remembers, and without asking first lets
 * any site send a body without a type (https://fetch.spec.whatwg.org/#cors-safelisted-request-header).
 */
const isFromPage = ({ headers }: FastifyRequest) =>
  headers.origin !== undefined || headers['sec-fetch-site'] !== undefined

/** Accepts bytes of another media type. The threads know its contract by the given name. */
export function acceptBytes(
  app: FastifyInstance,
  type: string,
  name: string,
  contract: () => Promise<z.ZodType>,
): void {
  app.addContentTypeParser(type, async (request: FastifyRequest, payload: Readable) => {
    const body = await bodyOf(request, payload)
    if (!Buffer.isBuffer(body)) return (await app.bodyReader.read(request.caller.name, name, body)).body
    return new CheckedBody({ value: parseOrRefuse(await contract(), body, 'body') })
  })
}

/**
 * Large bodies are collected in shared memory, a segment at a time, so that nothing large is ever copied in this
 * thread.
 */
const segmentBytes = 1024 * 1024

/** The body after decompression: a buffer if it is small. */
async function bodyOf(request: FastifyRequest, payload: Readable): Promise<Buffer | LargeBody> {
  if (encodingOf(request) === undefined) return received(request, payload, maxInlineBytes)
  const body = await uncompressed(
    request,
    (await received(request, payload, Number.POSITIVE_INFINITY)) as Buffer,
  )
  if (body.length <= maxInlineBytes) return body
  const large = createLargeBody()
  await inSteps(segmentsOf(body), large.add)
  return large.body()
}

function segmentsOf(bytes: Buffer): Buffer[] {
  const offsets = Array.from({ length: Math.ceil(bytes.length / segmentBytes) }, (_, n) => n * segmentBytes)
  return offsets.map((from) => bytes.subarray(from, from + segmentBytes))
}

/** The bytes of a request: a buffer up to a certain length, segments beyond it. */
function received(request: FastifyRequest, payload: Readable, longest: number): Promise<Buffer | LargeBody> {
  const limit = request.routeOptions.bodyLimit
  const declared = Number(request.headers['content-length'])
  if (declared > limit) throw refuse('body_too_large', { limit })
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = []
    let large: ReturnType<typeof createLargeBody> | undefined
    let length = 0
    const leave = () => payload.off('data', take).off('end', end).off('error', fail)
    const take = (chunk: Buffer) => {
      length += chunk.length
      if (length > limit) {
        leave()
        reject(refuse('body_too_large', { limit }))
        return
      }
      if (large === undefined && length > longest) {
        large = createLargeBody()
        for (const earlier of chunks) large.add(earlier)
        chunks = []
      }
      if (large === undefined) chunks.push(chunk)
      else {
        large.add(chunk)
        freeChunk(payload, chunk)
      }
    }
    const end = () => {
      leave()
      if (length !== declared && !Number.isNaN(declared)) {
        reject(refuse('malformed_json', { why: 'its length differs from the Content-Length' }))
      } else resolve(large?.body() ?? Buffer.concat(chunks, length))
    }
    const fail = (cause: unknown) => {
      leave()
      reject(cause instanceof Refusal ? cause : new DisconnectError('the client has left', { cause }))
    }
    payload.on('data', take).on('end', end).on('error', fail)
    payload.resume()
  })
}

function createLargeBody() {
  const segments: SharedArrayBuffer[] = []
  let length = 0
  let free = 0
  return {
    add(chunk: Buffer): void {
      for (let from = 0; from < chunk.length; ) {
        if (free === 0) {
          segments.push(new SharedArrayBuffer(segmentBytes))
          free = segmentBytes
        }
        const segment = Buffer.from(segments.at(-1) as SharedArrayBuffer)
        // `set` on shared memory takes ten times as long if the two are aligned differently.
        const copied = chunk.copy(segment, segmentBytes - free, from)
        free -= copied
        from += copied
      }
      length += chunk.length
    },
    body: (): LargeBody => ({ segments, length }),
  }
}
