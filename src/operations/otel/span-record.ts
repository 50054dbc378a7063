import { JsonText, writeJson } from '../../domain/json/text.ts'
import { formatTime } from '../../domain/time.ts'
import type { Attributes, Resource, Scope, Span, Value } from './span.ts'

const kinds = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER']
const statusCodes = ['UNSET', 'OK', 'ERROR']

/**
 * The whole span under the names that clients of Weave read at `attributes.otel_span`, with what those leave out: the
 * scope, the flags, the counts of what was dropped, and times in nanoseconds. Attributes keep their flat names here.
 */
export function spanRecord(span: Span, resource: Resource, scope: Scope): JsonText {
  const record = {
    name: span.name,
    context: { trace_id: span.traceId, span_id: span.spanId, trace_state: span.traceState },
    kind: kinds[span.kind] ?? span.kind,
    parent_id: span.parentSpanId || null,
    start_time: formatTime(microseconds(span.startTimeUnixNano)),
    end_time: formatTime(microseconds(span.endTimeUnixNano)),
    start_time_unix_nano: String(span.startTimeUnixNano),
    end_time_unix_nano: String(span.endTimeUnixNano),
    status: { code: statusCodes[span.status.code] ?? span.status.code, message: span.status.message },
    flags: span.flags,
    attributes: flat(span.attributes),
    dropped_attributes_count: span.droppedAttributesCount,
    events: span.events.map(({ name, timeUnixNano, attributes, droppedAttributesCount }) => ({
      name,
      time_unix_nano: String(timeUnixNano),
      attributes: flat(attributes),
      dropped_attributes_count: droppedAttributesCount,
    })),
    dropped_events_count: span.droppedEventsCount,
    links: span.links.map((link) => ({
      trace_id: link.traceId,
      span_id: link.spanId,
      trace_state: link.traceState,
      flags: link.flags,
      attributes: flat(link.attributes),
      dropped_attributes_count: link.droppedAttributesCount,
    })),
    dropped_links_count: span.droppedLinksCount,
    resource: {
      attributes: flat(resource.attributes),
      dropped_attributes_count: resource.droppedAttributesCount,
      schema_url: resource.schemaUrl,
    },
    scope: {
      name: scope.name,
      version: scope.version,
      attributes: flat(scope.attributes),
      dropped_attributes_count: scope.droppedAttributesCount,
      schema_url: scope.schemaUrl,
    },
  }
  return new JsonText(writeJson(record))
}

export function microseconds(nanoseconds: bigint): number {
  return Number(nanoseconds / 1000n)
}

export function flat(attributes: Attributes): Value {
  const object: { [name: string]: Value } = Object.create(null)
  for (const [name, value] of attributes) object[name] = value
  return object
}
