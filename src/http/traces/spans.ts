import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** How a model answered a request: numbers and names, no text of it. */
export interface ModelAnswer {
  model: string
  outcome: string
  prompt_tokens: number
  cached_tokens: number
  completion_tokens: number
  /** From the arrival of the request, like all times here; absent if it was not reached. */
  prefilled_ms?: number
  first_token_ms?: number
  total_ms: number
  /** Why it failed. */
  code?: string
}

/** The span of the client, from its header. */
interface RemoteSpan {
  trace: string
  span: string
  isSampled: boolean
}

/** Future versions may append more (https://www.w3.org/TR/trace-context/#versioning-of-traceparent). */
const traceparent = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/

/** An unreadable header is ignored, as the standard requires. */
export function remoteSpanIn(header: string | string[] | undefined): RemoteSpan | undefined {
  const [, version, trace = '', span = '', flags = '', more] = traceparent.exec(String(header ?? '')) ?? []
  if (version === undefined || (version === '00' && more !== undefined)) return undefined
  return { trace, span, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

export const writtenSpan = ({ trace, span, isSampled }: RemoteSpan) =>
  `00-${trace}-${span}-${isSampled ? '01' : '00'}`

/** The span of a request, known before it ends: what it asks of others continues it. */
export const spanBelow = (parent: RemoteSpan | undefined): RemoteSpan => ({
  trace: parent?.trace ?? randomBytes(16).toString('hex'),
  span: newSpanId(),
  isSampled: true,
})

type Attribute = readonly [key: string, value: string | number | undefined]

/** A span as OTLP writes it in JSON (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding). */
export interface Span {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: 1 | 2
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: object }[]
  events?: { name: string; timeUnixNano: string }[]
  status: { code?: 2; message?: string }
}

const [internal, server] = [1, 2] as const
const newSpanId = () => randomBytes(8).toString('hex')
/** A double has no nanoseconds of a time since 1970. */
const nanosOf = (ms: number) => String(BigInt(Math.round(ms * 1_000)) * 1_000n)

const attributesOf = (attributes: readonly Attribute[]) =>
  attributes.flatMap(([key, value]) => {
    if (value === undefined) return []
    return [{ key, value: typeof value === 'string' ? { stringValue: value } : { intValue: String(value) } }]
  })

/** The span of a request whose answer ended, or whose client left, and below it those of the models that answered. */
export function spansOf(
  request: FastifyRequest,
  reply: FastifyReply,
  { parent, own, began }: { parent: RemoteSpan | undefined; own: RemoteSpan; began: number },
): Span[] {
  const { method, id, routeOptions, caller, modelAnswers = [] } = request
  const { trace: traceId, span: spanId } = own
  const isWhole = reply.raw.writableEnded
  const status = isWhole ? reply.statusCode : undefined
  const failure = isWhole ? (reply.statusCode >= 500 ? String(reply.statusCode) : undefined) : 'client_left'
  const callId = reply.getHeader('x-heddle-call-id')
  const route = routeOptions.url
  const ended = began + reply.elapsedTime
  const whole: Span = {
    traceId,
    spanId,
    ...(parent && { parentSpanId: parent.span }),
    name: route === undefined ? method : `${method} ${route}`,
    kind: server,
    startTimeUnixNano: nanosOf(began),
    endTimeUnixNano: nanosOf(ended),
    attributes: attributesOf([
      ['http.request.method', method],
      ['http.route', route],
      ['http.response.status_code', status],
      ['error.type', failure],
      ['user.name', caller?.name],
      ['heddle.request_id', id],
      ['heddle.call_id', callId === undefined ? undefined : String(callId)],
    ]),
    status: failure === undefined ? {} : { code: 2 },
  }
  return [
    whole,
    ...modelAnswers.map((answer) => spanOfModel(answer, { traceId, parentSpanId: spanId }, { began, ended })),
  ]
}

function spanOfModel(
  answer: ModelAnswer,
  ids: { traceId: string; parentSpanId: string },
  { began, ended }: { began: number; ended: number },
): Span {
  // Its clock is another one, by less than a millisecond.
  const at = (ms: number) => nanosOf(Math.min(began + ms, ended))
  const times = { prefilled: answer.prefilled_ms, first_token: answer.first_token_ms }
  return {
    ...ids,
    spanId: newSpanId(),
    name: `ask ${answer.model}`,
    kind: internal,
    startTimeUnixNano: nanosOf(began),
    endTimeUnixNano: at(answer.total_ms),
    attributes: attributesOf([
      ['gen_ai.provider.name', 'heddle'],
      ['gen_ai.response.model', answer.model],
      ['gen_ai.usage.input_tokens', answer.prompt_tokens],
      ['gen_ai.usage.cache_read.input_tokens', answer.cached_tokens],
      ['gen_ai.usage.output_tokens', answer.completion_tokens],
      ['heddle.outcome', answer.outcome],
      ['error.type', answer.code],
    ]),
    events: Object.entries(times).flatMap(([name, ms]) =>
      ms === undefined ? [] : [{ name, timeUnixNano: at(ms) }],
    ),
    status: answer.outcome === 'failed' ? { code: 2 } : {},
  }
}
