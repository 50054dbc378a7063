import { hasMoreMarks, JsonNumber, parseLossless } from '../../../packages/json/index.ts'
import { described } from '../../domain/described.ts'
import { JsonText } from '../../domain/json/text.ts'
import type { LogsBody, TracesBody } from './contract.ts'
import type { LogRecord } from './log-record.ts'
import { countPieces, type ItemPiece, once, type ResourcePiece } from './pieces.ts'
import {
  type Attributes,
  attributesOf,
  type CountEntries,
  countEntries,
  cut,
  deeper,
  doubleNumber,
  maxEntries,
  objectOf,
  type Resource,
  type Scope,
  type Span,
  SpanError,
  type SpanEvent,
  type SpanLink,
  tooMany,
  type Value,
  wholeNumber,
} from './span.ts'

/**
 * OTLP/JSON: the JSON mapping of protobuf, with ids in hexadecimal and enumerations as numbers
 * (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).
 */
export function piecesOfJson({ resourceSpans }: TracesBody): ResourcePiece[] {
  const count = countPieces('resourceSpans')
  return (resourceSpans ?? []).map(({ scopeSpans, ...origin }) => {
    const groups = (scopeSpans ?? []).map(({ spans, ...group }) => ({ ...group, items: spans ?? [] }))
    return piecesOf(origin, groups, spanOf, count)
  })
}

export function logPiecesOfJson({ resourceLogs }: LogsBody): ResourcePiece<LogRecord>[] {
  const count = countPieces('resourceLogs')
  return (resourceLogs ?? []).map(({ scopeLogs, ...origin }) => {
    const groups = (scopeLogs ?? []).map(({ logRecords, ...group }) => ({
      ...group,
      items: logRecords ?? [],
    }))
    return piecesOf(origin, groups, recordOf, count)
  })
}

interface Origin {
  resource?: JsonText | null | undefined
  schemaUrl?: string | null | undefined
}

interface Group extends Pick<Origin, 'schemaUrl'> {
  scope?: JsonText | null | undefined
  items: readonly JsonText[]
}

function piecesOf<Item>(
  { resource, schemaUrl }: Origin,
  groups: readonly Group[],
  open: (fields: Fields) => Item,
  count: () => void,
): ResourcePiece<Item> {
  count()
  const items: ItemPiece<Item>[] = []
  for (const group of groups) {
    count()
    const scope = once(() => scopeOf(fieldsOf(group.scope), group.schemaUrl ?? ''))
    for (const item of group.items) {
      count()
      items.push({ scope, item: () => open(fieldsOf(item)) })
    }
  }
  return { resource: () => resourceOf(fieldsOf(resource), schemaUrl ?? ''), items }
}

type Fields = Record<string, unknown>

/** In JSON an entry has up to eight commas, braces and brackets. */
const maxMarks = 8 * maxEntries

function fieldsOf(text: JsonText | null | undefined): Fields {
  if (text && hasMoreMarks(text.text, maxMarks)) throw new SpanError(tooMany)
  return text ? (parseLossless(text.text) as Fields) : {}
}

function resourceOf(fields: Fields, schemaUrl: string): Resource {
  return {
    attributes: valuesOf('the resource', fields, countEntries()),
    droppedAttributesCount: count(fields, 'droppedAttributesCount'),
    schemaUrl,
  }
}

function scopeOf(fields: Fields, schemaUrl: string): Scope {
  return {
    name: text(fields, 'name'),
    version: text(fields, 'version'),
    attributes: valuesOf('the scope', fields, countEntries()),
    droppedAttributesCount: count(fields, 'droppedAttributesCount'),
    schemaUrl,
  }
}

function spanOf(span: Fields): Span {
  const status = object(span.status ?? {}, 'status')
  const counter = countEntries()
  return {
    traceId: hex(span, 'traceId'),
    spanId: hex(span, 'spanId'),
    parentSpanId: hex(span, 'parentSpanId'),
    traceState: text(span, 'traceState'),
    flags: count(span, 'flags'),
    name: text(span, 'name'),
    kind: enumeration(span, 'kind'),
    startTimeUnixNano: nanoseconds(span, 'startTimeUnixNano'),
    endTimeUnixNano: nanoseconds(span, 'endTimeUnixNano'),
    attributes: valuesOf('the span', span, counter),
    droppedAttributesCount: count(span, 'droppedAttributesCount'),
    events: list(span, 'events', counter).map((event) => eventOf(event, counter)),
    droppedEventsCount: count(span, 'droppedEventsCount'),
    links: list(span, 'links', counter).map((link) => linkOf(link, counter)),
    droppedLinksCount: count(span, 'droppedLinksCount'),
    status: { code: enumeration(status, 'code'), message: text(status, 'message') },
  }
}

function recordOf(fields: Fields): LogRecord {
  const counter = countEntries()
  return {
    timeUnixNano: nanoseconds(fields, 'timeUnixNano'),
    observedTimeUnixNano: nanoseconds(fields, 'observedTimeUnixNano'),
    severityNumber: enumeration(fields, 'severityNumber'),
    severityText: text(fields, 'severityText'),
    eventName: text(fields, 'eventName'),
    body: openedValue(fields.body, 1, counter),
    attributes: valuesOf('the record', fields, counter),
    droppedAttributesCount: count(fields, 'droppedAttributesCount'),
    flags: count(fields, 'flags'),
    traceId: hex(fields, 'traceId'),
    spanId: hex(fields, 'spanId'),
  }
}

function eventOf(event: Fields, counter: CountEntries): SpanEvent {
  return {
    timeUnixNano: nanoseconds(event, 'timeUnixNano'),
    name: text(event, 'name'),
    attributes: valuesOf('an event', event, counter),
    droppedAttributesCount: count(event, 'droppedAttributesCount'),
  }
}

function linkOf(link: Fields, counter: CountEntries): SpanLink {
  return {
    traceId: hex(link, 'traceId'),
    spanId: hex(link, 'spanId'),
    traceState: text(link, 'traceState'),
    flags: count(link, 'flags'),
    attributes: valuesOf('a link', link, counter),
    droppedAttributesCount: count(link, 'droppedAttributesCount'),
  }
}

function valuesOf(owner: string, fields: Fields, counter: CountEntries): Attributes {
  return attributesOf(
    owner,
    list(fields, 'attributes', counter).map((pair) => [
      text(pair, 'key'),
      openedValue(pair.value, 1, counter),
    ]),
  )
}

function openedValue(wrapped: unknown, depth: number, counter: CountEntries): Value {
  for (const [kind, value] of Object.entries(object(wrapped ?? {}, 'value'))) {
    if (value === null) continue
    switch (kind) {
      case 'stringValue':
      case 'bytesValue':
        if (typeof value === 'string') return value
        throw wrong(kind, 'a string', value)
      case 'boolValue':
        if (typeof value === 'boolean') return value
        throw wrong(kind, 'a boolean', value)
      case 'intValue':
        return wholeNumber(int64(value, kind))
      case 'doubleValue':
        return double(value)
      case 'arrayValue':
        return list(object(value, kind), 'values', counter).map((item) =>
          openedValue(item, deeper(depth), counter),
        )
      case 'kvlistValue':
        return objectOf(
          list(object(value, kind), 'values', counter).map((pair) => [
            text(pair, 'key'),
            openedValue(pair.value, deeper(depth), counter),
          ]),
        )
    }
  }
  return null
}

function wrong(field: string, expected: string, value: unknown): SpanError {
  const shown = value instanceof JsonNumber ? cut(value.token) : described(value)
  return new SpanError(`${field}: expected ${expected}, received ${shown}`)
}

function object(value: unknown, field: string): Fields {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isObject || value instanceof JsonNumber) throw wrong(field, 'an object', value)
  return value as Fields
}

function list(fields: Fields, field: string, counter: CountEntries): Fields[] {
  const value = fields[field] ?? []
  if (!Array.isArray(value)) throw wrong(field, 'a list', value)
  counter(field, value.length)
  return value.map((item) => object(item, field))
}

function text(fields: Fields, field: string): string {
  const value = fields[field] ?? ''
  if (typeof value !== 'string') throw wrong(field, 'a string', value)
  return value
}

function hex(fields: Fields, field: string): string {
  const value = text(fields, field)
  if (!/^[\da-f]*$/i.test(value)) throw wrong(field, 'hexadecimal digits', value)
  return value.toLowerCase()
}

/** An unsigned number of 32 bits; also accepted as 1.0 or 1e0, or as a text of digits. */
function count(fields: Fields, field: string): number {
  const raw = fields[field] ?? 0
  const token = digits(raw)
  const value = /^\d[\d.eE+-]{0,31}$/.test(token) ? Number(token) : Number.NaN
  if (!Number.isInteger(value) || value < 0 || value > 0xffff_ffff) {
    throw wrong(field, 'a whole number of 32 bits', raw)
  }
  return value
}

function enumeration(fields: Fields, field: string): number {
  const value = fields[field] ?? 0
  if (typeof value !== 'number' || !Number.isInteger(value)) throw wrong(field, 'a number', value)
  return value
}

/** 64 bits do not fit into a number of JavaScript, so the digits are kept as text. */
function digits(value: unknown): string {
  if (value instanceof JsonNumber) return value.token
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

function nanoseconds(fields: Fields, field: string): bigint {
  const raw = fields[field] ?? 0
  const token = digits(raw)
  const value = /^\d{1,20}$/.test(token) ? BigInt(token) : -1n
  if (value < 0n || BigInt.asUintN(64, value) !== value) {
    throw wrong(field, 'nanoseconds since 1970, of 64 bits', raw)
  }
  return value
}

function int64(raw: unknown, field: string): bigint {
  const token = digits(raw)
  const value = /^-?\d{1,19}$/.test(token) ? BigInt(token) : undefined
  if (value === undefined || BigInt.asIntN(64, value) !== value) {
    throw wrong(field, 'a whole number of 64 bits', raw)
  }
  return value
}

function double(raw: unknown): Value {
  if (raw instanceof JsonNumber) return new JsonText(raw.token)
  if (typeof raw === 'number') return new JsonText(String(raw))
  if (typeof raw === 'string' && /^(?:-?\d[\d.eE+-]*|NaN|-?Infinity)$/.test(raw)) {
    const value = Number(raw)
    if (raw === 'NaN' || !Number.isNaN(value)) return doubleNumber(value)
  }
  throw wrong('doubleValue', 'a number', raw)
}
