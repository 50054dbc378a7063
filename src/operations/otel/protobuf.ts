import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf'
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { z } from 'zod'
import { traits } from '../../domain/fields.ts'
import { refuse } from '../../domain/refusals.ts'
import {
  ExportLogsServiceRequestSchema,
  ExportLogsServiceResponseSchema,
} from './generated/opentelemetry/proto/collector/logs/v1/logs_service_pb.ts'
import {
  ExportTraceServiceRequestSchema,
  ExportTraceServiceResponseSchema,
} from './generated/opentelemetry/proto/collector/trace/v1/trace_service_pb.ts'
import {
  type AnyValue,
  InstrumentationScopeSchema,
  type KeyValue,
} from './generated/opentelemetry/proto/common/v1/common_pb.ts'
import {
  LogRecordSchema,
  ResourceLogsSchema,
  ScopeLogsSchema,
} from './generated/opentelemetry/proto/logs/v1/logs_pb.ts'
import { ResourceSchema } from './generated/opentelemetry/proto/resource/v1/resource_pb.ts'
import {
  ResourceSpansSchema,
  ScopeSpansSchema,
  SpanSchema,
} from './generated/opentelemetry/proto/trace/v1/trace_pb.ts'
import type { LogRecord } from './log-record.ts'
import { readLogs } from './logs.ts'
import { countPieces, type ItemPiece, once, type ResourcePiece } from './pieces.ts'
import { readExport } from './reading.ts'
import type { PartialSuccess, Signal } from './signals.ts'
import {
  type Attributes,
  attributesOf,
  type CountEntries,
  countEntries,
  deeper,
  doubleNumber,
  objectOf,
  type Resource,
  type Scope,
  type Span,
  SpanError,
  type Value,
  wholeNumber,
} from './span.ts'

/** The numbers of the fields that lead to the items of a request. */
interface Nesting {
  /** How a refusal names the first of them. */
  name: string
  resources: number
  resource: number
  groups: number
  items: number
  schemaUrl: number
}

const nestingOfSpans: Nesting = {
  name: 'resourceSpans',
  resources: ExportTraceServiceRequestSchema.field.resourceSpans.number,
  resource: ResourceSpansSchema.field.resource.number,
  groups: ResourceSpansSchema.field.scopeSpans.number,
  items: ScopeSpansSchema.field.spans.number,
  schemaUrl: ResourceSpansSchema.field.schemaUrl.number,
}

const nestingOfLogs: Nesting = {
  name: 'resourceLogs',
  resources: ExportLogsServiceRequestSchema.field.resourceLogs.number,
  resource: ResourceLogsSchema.field.resource.number,
  groups: ResourceLogsSchema.field.scopeLogs.number,
  items: ScopeLogsSchema.field.logRecords.number,
  schemaUrl: ResourceLogsSchema.field.schemaUrl.number,
}

export const piecesOfProtobuf = (body: Uint8Array) => piecesOf(body, nestingOfSpans, spanOf)
const logPiecesOfProtobuf = (body: Uint8Array) => piecesOf(body, nestingOfLogs, recordOf)

/** Splits a request into the bytes of each span or record, which are not decoded yet. */
function piecesOf<Item>(
  body: Uint8Array,
  nesting: Nesting,
  open: (bytes: Uint8Array) => Item,
): ResourcePiece<Item>[] {
  const count = countPieces(nesting.name)
  try {
    return submessages(body, nesting.resources, count).map((bytes) => {
      const items: ItemPiece<Item>[] = []
      for (const group of submessages(bytes, nesting.groups, count)) {
        const scope = once(() => scopeOf(group))
        for (const item of submessages(group, nesting.items, count)) {
          items.push({ scope, item: () => open(item) })
        }
      }
      return {
        resource: () => resourceOf(merged(bytes, nesting.resource), textOf(bytes, nesting.schemaUrl)),
        items,
      }
    })
  } catch (error) {
    if (error instanceof RangeError || isWireError(error)) throw malformed(error as Error)
    throw error
  }
}

/** The reader throws plain errors. */
function isWireError(error: unknown): boolean {
  return error instanceof Error && error.constructor === Error
}

function malformed(error: Error) {
  return refuse('malformed_protobuf', { why: error.message })
}

/** The bytes of each occurrence of a field in a message. */
function submessages(bytes: Uint8Array, field: number, count?: () => void): Uint8Array[] {
  const reader = new BinaryReader(bytes)
  const found: Uint8Array[] = []
  while (reader.pos < reader.len) {
    const [no, type] = reader.tag()
    if (no === field && type === WireType.LengthDelimited) {
      count?.()
      found.push(reader.bytes())
    } else reader.skip(type, no)
  }
  return found
}

/** A message that comes in parts is their concatenation (protobuf.dev, "Last One Wins"). */
function merged(bytes: Uint8Array, field: number): Uint8Array {
  return Buffer.concat(submessages(bytes, field))
}

function textOf(bytes: Uint8Array, field: number): string {
  return Buffer.from(submessages(bytes, field).at(-1) ?? []).toString('utf8')
}

/** Counts the entries before decoding them, because decoding many would block the event loop. */
function decoded<Schema extends DescMessage>(schema: Schema, bytes: Uint8Array): MessageShape<Schema> {
  try {
    countMessages(schema, bytes, countEntries(), deepest)
    return fromBinary(schema, bytes, { readUnknownFields: false })
  } catch (error) {
    if (error instanceof SpanError) throw error
    throw new SpanError(`cannot be read: ${(error as Error).message}`)
  }
}

/** Deepest level to which messages are decoded. */
const deepest = 100

/** Counts the messages of all lists, on any level that is decoded. */
function countMessages(schema: DescMessage, bytes: Uint8Array, count: CountEntries, levels: number): void {
  if (levels === 0) return
  const inner = messagesIn(schema)
  const reader = new BinaryReader(bytes)
  while (reader.pos < reader.len) {
    const [no, type] = reader.tag()
    const field = type === WireType.LengthDelimited ? inner.get(no) : undefined
    if (field === undefined) {
      reader.skip(type, no)
      continue
    }
    if (field.isList) count(field.name, 1)
    countMessages(field.message, reader.bytes(), count, levels - 1)
  }
}

interface MessageField {
  name: string
  message: DescMessage
  isList: boolean
}

const messageFields = new WeakMap<DescMessage, ReadonlyMap<number, MessageField>>()

function messagesIn(schema: DescMessage): ReadonlyMap<number, MessageField> {
  let fields = messageFields.get(schema)
  if (fields === undefined) {
    fields = new Map(
      schema.fields.flatMap(({ number, jsonName: name, message, fieldKind }) =>
        message ? [[number, { name, message, isList: fieldKind === 'list' }] as const] : [],
      ),
    )
    messageFields.set(schema, fields)
  }
  return fields
}

function resourceOf(bytes: Uint8Array, schemaUrl: string): Resource {
  const { attributes, droppedAttributesCount } = decoded(ResourceSchema, bytes)
  return { attributes: valuesOf('the resource', attributes), droppedAttributesCount, schemaUrl }
}

/** The fields of a group of records have the same numbers. */
function scopeOf(group: Uint8Array): Scope {
  const { scope, schemaUrl } = ScopeSpansSchema.field
  const { name, version, attributes, droppedAttributesCount } = decoded(
    InstrumentationScopeSchema,
    merged(group, scope.number),
  )
  return {
    name,
    version,
    attributes: valuesOf('the scope', attributes),
    droppedAttributesCount,
    schemaUrl: textOf(group, schemaUrl.number),
  }
}

function spanOf(bytes: Uint8Array): Span {
  const span = decoded(SpanSchema, bytes)
  return {
    traceId: hex(span.traceId),
    spanId: hex(span.spanId),
    parentSpanId: hex(span.parentSpanId),
    traceState: span.traceState,
    flags: span.flags,
    name: span.name,
    kind: span.kind,
    startTimeUnixNano: span.startTimeUnixNano,
    endTimeUnixNano: span.endTimeUnixNano,
    attributes: valuesOf('the span', span.attributes),
    droppedAttributesCount: span.droppedAttributesCount,
    events: span.events.map((event) => ({
      timeUnixNano: event.timeUnixNano,
      name: event.name,
      attributes: valuesOf('an event', event.attributes),
      droppedAttributesCount: event.droppedAttributesCount,
    })),
    droppedEventsCount: span.droppedEventsCount,
    links: span.links.map((link) => ({
      traceId: hex(link.traceId),
      spanId: hex(link.spanId),
      traceState: link.traceState,
      flags: link.flags,
      attributes: valuesOf('a link', link.attributes),
      droppedAttributesCount: link.droppedAttributesCount,
    })),
    droppedLinksCount: span.droppedLinksCount,
    status: { code: span.status?.code ?? 0, message: span.status?.message ?? '' },
  }
}

function recordOf(bytes: Uint8Array): LogRecord {
  const record = decoded(LogRecordSchema, bytes)
  return {
    timeUnixNano: record.timeUnixNano,
    observedTimeUnixNano: record.observedTimeUnixNano,
    severityNumber: record.severityNumber,
    severityText: record.severityText,
    eventName: record.eventName,
    body: openedValue(record.body, 1),
    attributes: valuesOf('the record', record.attributes),
    droppedAttributesCount: record.droppedAttributesCount,
    flags: record.flags,
    traceId: hex(record.traceId),
    spanId: hex(record.spanId),
  }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}

function valuesOf(owner: string, pairs: readonly KeyValue[]): Attributes {
  return attributesOf(
    owner,
    pairs.map(({ key, value }) => [key, openedValue(value, 1)]),
  )
}

function openedValue(wrapped: AnyValue | undefined, depth: number): Value {
  const content = wrapped?.value
  switch (content?.case) {
    case 'stringValue':
    case 'boolValue':
      return content.value
    case 'intValue':
      return wholeNumber(content.value)
    case 'doubleValue':
      return doubleNumber(content.value)
    case 'bytesValue':
      return Buffer.from(content.value).toString('base64')
    case 'arrayValue':
      return content.value.values.map((item) => openedValue(item, deeper(depth)))
    case 'kvlistValue':
      return objectOf(content.value.values.map(({ key, value }) => [key, openedValue(value, deeper(depth))]))
    default:
      // Empty, or an index into the table of another signal, which the definitions say to read as empty.
      return null
  }
}

export function protobufAnswer({ rejected, errorMessage }: PartialSuccess, signal: Signal) {
  const isPartial = rejected > 0 || errorMessage !== ''
  const count = BigInt(rejected)
  // Answers about metrics have the same fields on the wire as those about spans.
  if (signal !== 'logs') {
    const partialSuccess = { rejectedSpans: count, errorMessage }
    const answer = create(ExportTraceServiceResponseSchema, isPartial ? { partialSuccess } : {})
    return toBinary(ExportTraceServiceResponseSchema, answer)
  }
  const partialSuccess = { rejectedLogRecords: count, errorMessage }
  const answer = create(ExportLogsServiceResponseSchema, isPartial ? { partialSuccess } : {})
  return toBinary(ExportLogsServiceResponseSchema, answer)
}

/**
 * Requests in protobuf, and the exports read from them. The decoder is some 7 MB of code, which a server without such
 * clients need not load.
 */
export const TracesProtobuf = z
  .instanceof(Uint8Array)
  .transform((bytes) => readExport(piecesOfProtobuf(bytes)))
export const LogsProtobuf = z
  .instanceof(Uint8Array)
  .transform((bytes) => readLogs(logPiecesOfProtobuf(bytes)))
export const MetricsProtobuf = z.instanceof(Uint8Array).transform(() => undefined)
for (const contract of [TracesProtobuf, LogsProtobuf, MetricsProtobuf])
  traits.add(contract, { isBytes: true })
