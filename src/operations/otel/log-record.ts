import { createHash } from 'node:crypto'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { textOf } from './attribute-values.ts'
import { type Attributes, type Resource, type Scope, type Span, SpanError, type Value } from './span.ts'
import { flat } from './span-record.ts'

/** A log record, decoded from either encoding. */
export interface LogRecord {
  timeUnixNano: bigint
  observedTimeUnixNano: bigint
  severityNumber: number
  severityText: string
  eventName: string
  body: Value
  attributes: Attributes
  droppedAttributesCount: number
  flags: number
  traceId: string
  spanId: string
}

/** A record with where it comes from. */
export interface Logged {
  record: LogRecord
  /** The name of its event; empty in a plain log line. */
  name: string
  resource: Resource
  scope: Scope
}

const maxNameLength = 200

/** Codex writes the line of its source as the name of the event, and the name into an attribute. */
export function eventNameOf({ attributes, eventName, body }: LogRecord): string {
  const named = textOf(attributes, 'event.name') ?? (/\s/.test(eventName) ? '' : eventName)
  if (named !== '') return named.slice(0, maxNameLength)
  // The body of an event of Claude Code is its whole name.
  return typeof body === 'string' && /^[\w-]+(?:\.[\w-]+)+$/.test(body) ? body.slice(0, maxNameLength) : ''
}

export function timeOf({ timeUnixNano, observedTimeUnixNano }: LogRecord): bigint {
  const time = timeUnixNano || observedTimeUnixNano
  if (time > 0n) return time
  throw new SpanError('timeUnixNano: expected nanoseconds since 1970, received 0')
}

const noParent = ''
/** A call needs ids of this form to be made of a span; those of other calls replace them. */
const anyTrace = '1'.repeat(32)
const anySpan = '1'.repeat(16)

/** What a record says of a call, as the span that an instrumentation would have sent. */
export function spanLike(
  { record }: Logged,
  name: string,
  attributes: Iterable<readonly [string, Value]>,
  fields: Partial<Span> = {},
): Span {
  const time = timeOf(record)
  return {
    traceId: record.traceId || anyTrace,
    spanId: record.spanId || anySpan,
    parentSpanId: noParent,
    traceState: '',
    flags: 0,
    name,
    kind: 0,
    startTimeUnixNano: time,
    endTimeUnixNano: time,
    attributes: new Map(attributes),
    droppedAttributesCount: 0,
    events: [],
    droppedEventsCount: 0,
    links: [],
    droppedLinksCount: 0,
    status: { code: 0, message: '' },
    ...fields,
  }
}

/** The whole record, with attributes under their flat names. */
export function recordJson({ record, resource, scope }: Logged): JsonText {
  const { timeUnixNano, observedTimeUnixNano, attributes, ...other } = record
  return new JsonText(
    writeJson({
      event_name: other.eventName,
      time_unix_nano: String(timeUnixNano),
      observed_time_unix_nano: String(observedTimeUnixNano),
      severity_number: other.severityNumber,
      severity_text: other.severityText,
      body: other.body,
      attributes: flat(attributes),
      dropped_attributes_count: other.droppedAttributesCount,
      flags: other.flags,
      trace_id: other.traceId,
      span_id: other.spanId,
      scope: scope.name,
      resource: flat(resource.attributes),
    }),
  )
}

/** The same for a record that is sent again. */
export const digestOf = (json: JsonText): string =>
  createHash('sha256').update(json.text).digest('hex').slice(0, 24)
