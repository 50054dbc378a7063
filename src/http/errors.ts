import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Refusal, type RefusalCode, refuse } from '../domain/refusals.ts'
import { DisconnectError } from './disconnect.ts'
import { readRestOf } from './lingering.ts'
import { pageSessionHeader } from './page/session-header.ts'
import { disconnectedInBody, logRefusal } from './request-log.ts'

/** Both schemes, so that a browser prompts and a client knows what to send (RFC 9110, section 11.6.1). */
const challenges = ['Basic realm="heddle", charset="UTF-8"', 'Bearer realm="heddle"']

/** A browser that sees Basic shows its own dialog in front of the page. */
const pageChallenge = 'Session realm="heddle"'

/** Error types that the SDKs of OpenAI and Anthropic share. */
const errorTypes: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  503: 'overloaded_error',
}

/** Error types of Anthropic's SDKs alone. */
const anthropicTypes: Record<number, string> = {
  ...errorTypes,
  413: 'request_too_large',
  504: 'timeout_error',
}

/** Whose clients read the answers of a route: those of OpenAI, of Anthropic, of Ollama, or of the record. */
type Api = 'openai' | 'anthropic' | 'ollama' | 'record'

/** Where clients of models ask whose base URL lacks `/v1`; they read only errors of their own form. */
const withoutVersion =
  /^\/(?:(?:(?:chat|fim)\/)?completions|embeddings|decisions|systemone|messages(?:\/count_tokens|\/batches(?:\/[^?]*)?)?|(?:models|responses)(?:\/[^/?]+)?)\/?(?:[?]|$)/

export function apiOf(url: string): Api {
  if (/^\/(?:(?:v2\/)?rerank|v2\/embed|infill|completion|score|classify)(?:[?]|$)/.test(url)) return 'openai'
  if (url.startsWith('/api/')) return 'ollama'
  // Addresses of Azure that are no route's.
  if (url.startsWith('/openai/')) return 'openai'
  if (withoutVersion.test(url)) return apiOf(`/v1${url}`)
  if (url.startsWith('/v1/v1/')) return apiOf(url.slice('/v1'.length))
  const [, below] = /^\/v1(?:\/([^/?]*)|[?]|$)/.exec(url) ?? ['', null]
  if (below === null) return 'record'
  // Where OpenTelemetry exporters send spans, log records and metrics.
  if (/^(?:traces|logs|metrics)$/.test(below)) return 'record'
  return below === 'messages' ? 'anthropic' : 'openai'
}

/** The clients of Anthropic ask for models, files and the like where those of OpenAI do, and name a version. */
export function wireOf({ url, headers }: FastifyRequest): Api {
  const api = apiOf(url)
  return api === 'openai' && headers['anthropic-version'] !== undefined ? 'anthropic' : api
}

/** In the form that OpenAI's SDKs expect. */
export function openAiError({ code, message, field, detail, status: httpStatus }: Refusal) {
  const type =
    code === 'budget_exceeded' ? 'insufficient_quota' : typeOf(modelStatus(code, httpStatus), errorTypes)
  const param = field ?? (detail?.[0]?.loc.slice(1).join('.') || null)
  return { error: { message, type, param, code } }
}

/** In the form that Anthropic's SDKs expect; `errorCode` of their errors is our code. */
export function anthropicError(
  { code, message, status: httpStatus }: Refusal,
  request: Pick<FastifyRequest, 'id'>,
) {
  const type = typeOf(modelStatus(code, httpStatus), anthropicTypes)
  const error = { type, message, details: { error_code: code } }
  return { type: 'error' as const, error, request_id: request.id }
}

/** In the form that Ollama's clients expect: they show the text of `error`. */
export const ollamaError = ({ code, message }: Refusal) => ({ error: message, code })

function typeOf(status: number, types: Record<number, string>): string {
  return types[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
}

/** To the clients of models 422 means something else. */
function modelStatus(code: RefusalCode, status: number): number {
  return code === 'invalid_request' ? 400 : status
}

/** The one place that decides the form of a refusal: the one that the clients of its route expect. */
export function sendRefusal(request: FastifyRequest, reply: FastifyReply, refusal: Refusal): FastifyReply {
  readRestOf(request, reply)
  const wire = wireOf(request)
  const status = wire === 'record' ? refusal.status : modelStatus(refusal.code, refusal.status)
  reply.code(status).type('application/json; charset=utf-8')
  if (status === 401) {
    reply.header(
      'www-authenticate',
      request.headers[pageSessionHeader] === undefined ? challenges : pageChallenge,
    )
  }
  if (status === 429 || status === 503) reply.header('retry-after', String(refusal.values.seconds ?? 1))
  // The SDKs of OpenAI and Anthropic would try a 429 again.
  if (refusal.code === 'budget_exceeded') reply.header('x-should-retry', 'false')
  if (refusal.code === 'method_not_allowed') reply.header('allow', String(refusal.values.allowed))
  if (wire === 'openai') return reply.send(JSON.stringify(openAiError(refusal)))
  if (wire === 'anthropic') return reply.send(JSON.stringify(anthropicError(refusal, request)))
  if (wire === 'ollama') return reply.send(JSON.stringify(ollamaError(refusal)))
  const { message, code, detail } = refusal
  const { deleted_at } = refusal.values
  return reply.send(JSON.stringify({ reason: message, code, detail, deleted_at }))
}

/** Converts errors of Fastify and its plugins to refusals from our catalogue. */
export function asRefusal(error: unknown, request: FastifyRequest): Refusal {
  if (error instanceof Refusal) return error
  const code = (error as Partial<FastifyError>)?.code ?? ''
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return refuse('body_too_large', { limit: request.routeOptions.bodyLimit ?? 0 })
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_EMPTY_TYPE':
      return unsupported(request)
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return refuse('malformed_json', { why: 'its length differs from the Content-Length' })
    case 'FST_BASIC_AUTH_MISSING_OR_BAD_AUTHORIZATION_HEADER':
      return refuse('malformed_credentials', { why: 'Basic must be followed by the base64 of name:key' })
    case 'FST_BEARER_AUTH_INVALID_AUTHORIZATION_HEADER':
    case 'FST_BEARER_AUTH_MISSING_AUTHORIZATION_HEADER':
      return refuse('wrong_credentials')
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_ASYNC_CONSTRAINT':
    case 'FST_STATIC_FORBIDDEN_PATH':
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return routeNotFound(request)
    default: {
      const refusal = refuse('internal_error', { request: request.id })
      refusal.cause = error
      return refusal
    }
  }
}

export function unsupported(request: FastifyRequest): Refusal {
  return refuse('unsupported_media_type', {
    received: request.headers['content-type'] ?? 'none',
    accepted: acceptedBy(request),
  })
}

function acceptedBy({ routeOptions }: FastifyRequest): string {
  if (routeOptions.config.form) return 'multipart/form-data'
  return (routeOptions.schema?.consumes ?? ['application/json']).join(', ')
}

export function pathOf(request: FastifyRequest): string {
  return (request.url.split('?', 1)[0] as string).slice(0, 200)
}

export function handleErrors(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => {
    logError(error, request)
    return sendRefusal(request, reply, asRefusal(error, request))
  })
  app.setNotFoundHandler(unknownRoute)
}

/** Logs a request that failed. */
export function logError(error: unknown, request: FastifyRequest): void {
  // The log line of the request itself already reports that the client left.
  if (error instanceof DisconnectError || disconnectedInBody(request)) return
  logRefusal(request.log, asRefusal(error, request), request.routeOptions.config.probe)
}

function unknownRoute(request: FastifyRequest): never {
  throw routeNotFound(request)
}

export function routeNotFound(request: FastifyRequest, hint = 'GET /openapi.json lists them'): Refusal {
  return refuse('route_not_found', { method: request.method, path: pathOf(request), hint })
}
