import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf'
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { refuse } from '../../domain/refusals.ts'
import {
  ExportTraceServiceRequestSchema,
  ExportTraceServiceResponseSchema,
} from './generated/opentelemetry/proto/collector/trace/v1/trace_service_pb.ts'
import {
  type AnyValue,
  InstrumentationScopeSchema,
  type KeyValue,
} from './generated/opentelemetry/proto/common/v1/common_pb.ts'
import { ResourceSchema } from './generated/opentelemetry/proto/resource/v1/resource_pb.ts'
import {
  ResourceSpansSchema,
  ScopeSpansSchema,
  SpanSchema,
} from './generated/opentelemetry/proto/trace/v1/trace_pb.ts'
import type { PartialSuccess } from './intake.ts'
import { countPieces, once, type ResourcePiece, type SpanPiece } from './pieces.ts'
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

/** Splits a request into the bytes of each span, which are not decoded yet. */
export function piecesOfProtobuf(body: Uint8Array): ResourcePiece[] {
  const count = countPieces()
  try {
    const { resourceSpans } = ExportTraceServiceRequestSchema.field
    return submessages(body, resourceSpans.number, count).map((bytes) => resourcePieceOf(bytes, count))
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

function resourcePieceOf(bytes: Uint8Array, count: () => void): ResourcePiece {
  const { resource, scopeSpans, schemaUrl } = ResourceSpansSchema.field
  const spans: SpanPiece[] = []
  for (const group of submessages(bytes, scopeSpans.number, count)) {
    const scope = once(() => scopeOf(group))
    for (const span of submessages(group, ScopeSpansSchema.field.spans.number, count)) {
      spans.push({ scope, span: () => spanOf(span) })
    }
  }
  return {
    resource: () => resourceOf(merged(bytes, resource.number), textOf(bytes, schemaUrl.number)),
    spans,
  }
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

export function protobufAnswer({ rejectedSpans, errorMessage }: PartialSuccess): Uint8Array {
  const partialSuccess = { rejectedSpans: BigInt(rejectedSpans), errorMessage }
  return toBinary(
    ExportTraceServiceResponseSchema,
    create(ExportTraceServiceResponseSchema, rejectedSpans > 0 ? { partialSuccess } : {}),
  )
}
