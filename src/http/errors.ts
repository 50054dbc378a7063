import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Refusal, type RefusalCode, refuse } from '../domain/refusals.ts'
import { DisconnectError } from './disconnect.ts'
import { readRestOf } from './lingering.ts'
import { leftInBody, noteRefusal } from './request-log.ts'

/** Both schemes, so that a browser asks and a client knows (RFC 9110, section 11.6.1). */
const challenges = ['Basic realm="heddle", charset="UTF-8"', 'Bearer realm="heddle"']

const openAiTypes: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  503: 'overloaded_error',
}

export function isOpenAiPath(url: string): boolean {
  return /^\/v1(?:[/?]|$)/.test(url)
}

/** As the SDKs of OpenAI read it. */
export function openAiError({ code, message, field, detail, status: given }: Refusal) {
  const status = openAiStatus(code, given)
  const type = openAiTypes[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  const param = field ?? detail?.[0]?.loc.slice(1).join('.') ?? null
  return { error: { message, type, param, code } }
}

function openAiStatus(code: RefusalCode, status: number): number {
  return code === 'invalid_request' ? 400 : status
}

/** The one place that decides what a refusal looks like: OpenAI's envelope under /v1, ours elsewhere. */
export function sendRefusal(request: FastifyRequest, reply: FastifyReply, refusal: Refusal): FastifyReply {
  readRestOf(request, reply)
  const openAi = isOpenAiPath(request.url)
  const status = openAi ? openAiStatus(refusal.code, refusal.status) : refusal.status
  reply.code(status).type('application/json; charset=utf-8')
  if (status === 401) reply.header('www-authenticate', challenges)
  if (status === 429 || status === 503) reply.header('retry-after', String(refusal.values.seconds ?? 1))
  if (refusal.code === 'method_not_allowed') reply.header('allow', String(refusal.values.allowed))
  if (openAi) return reply.send(JSON.stringify(openAiError(refusal)))
  const { message, code, detail } = refusal
  const { deleted_at } = refusal.values
  return reply.send(JSON.stringify({ reason: message, code, detail, deleted_at }))
}

/** What Fastify and its plugins refuse, in the words of our catalogue. */
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
      return refuse('malformed_json', { why: 'its length is not the Content-Length' })
    case 'FST_BASIC_AUTH_MISSING_OR_BAD_AUTHORIZATION_HEADER':
      return refuse('malformed_credentials', { why: 'after Basic comes the base64 of name:key' })
    case 'FST_BEARER_AUTH_INVALID_AUTHORIZATION_HEADER':
    case 'FST_BEARER_AUTH_MISSING_AUTHORIZATION_HEADER':
      return refuse('wrong_credentials')
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_ASYNC_CONSTRAINT':
    case 'FST_STATIC_FORBIDDEN_PATH':
      return refuse('route_not_found', { method: request.method, path: pathOf(request) })
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return refuse('route_not_found', { method: request.method, path: pathOf(request) })
    default: {
      const refusal = refuse('internal_error', { request: request.id })
      refusal.cause = error
      return refusal
    }
  }
}

export function unsupported(request: FastifyRequest): Refusal {
  return refuse('unsupported_media_type', {
    given: JSON.stringify(request.headers['content-type'] ?? 'none'),
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
    noteError(error, request)
    return sendRefusal(request, reply, asRefusal(error, request))
  })
  app.setNotFoundHandler(unknownRoute)
}

/** The line of the log about a request that failed. */
export function noteError(error: unknown, request: FastifyRequest): void {
  // The line about the request itself says that the client left.
  if (error instanceof DisconnectError || leftInBody(request)) return
  noteRefusal(request.log, asRefusal(error, request), request.routeOptions.config.probe)
}

/** Behind the check of credentials, before anything of a body is read. */
export function refuseUnknownRoutes(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.is404) unknownRoute(request)
    done()
  })
}

function unknownRoute(request: FastifyRequest): never {
  throw refuse('route_not_found', { method: request.method, path: pathOf(request) })
}
