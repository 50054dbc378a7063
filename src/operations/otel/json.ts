import { described } from '../../domain/described.ts'
import { JsonNumber, parseLossless } from '../../domain/json/lossless.ts'
import { hasMoreMarks } from '../../domain/json/scan.ts'
import { JsonText } from '../../domain/json/text.ts'
import type { TracesBody } from './contract.ts'
import type { PartialSuccess } from './intake.ts'
import { countPieces, once, type ResourcePiece, type SpanPiece } from './pieces.ts'
import {
  type Attributes,
  attributesOf,
  type CountEntries,
  countEntries,
  cut,
  deeper,
  doubleNumber,
  mostEntries,
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
  const count = countPieces()
  return (resourceSpans ?? []).map(({ resource, scopeSpans, schemaUrl }) => {
    count()
    const spans: SpanPiece[] = []
    for (const group of scopeSpans ?? []) {
      count()
      const scope = once(() => scopeOf(fieldsOf(group.scope), group.schemaUrl ?? ''))
      for (const span of group.spans ?? []) {
        count()
        spans.push({ scope, span: () => spanOf(fieldsOf(span)) })
      }
    }
    return { resource: () => resourceOf(fieldsOf(resource), schemaUrl ?? ''), spans }
  })
}

type Fields = Record<string, unknown>

/** In JSON an entry has up to eight commas, braces and brackets. */
const mostMarks = 8 * mostEntries

function fieldsOf(text: JsonText | null | undefined): Fields {
  if (text && hasMoreMarks(text.text, mostMarks)) throw new SpanError(tooMany)
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

function valuesOf(place: string, fields: Fields, counter: CountEntries): Attributes {
  return attributesOf(
    place,
    list(fields, 'attributes', counter).map((pair) => [
      text(pair, 'key'),
      openedValue(pair.value, 1, counter),
    ]),
  )
}

function openedValue(given: unknown, depth: number, counter: CountEntries): Value {
  for (const [kind, value] of Object.entries(object(given ?? {}, 'value'))) {
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

function wrong(field: string, expected: string, given: unknown): SpanError {
  const shown = given instanceof JsonNumber ? cut(given.token) : described(given)
  return new SpanError(`${field}: expected ${expected}, received ${shown}`)
}

function object(given: unknown, field: string): Fields {
  const isObject = typeof given === 'object' && given !== null && !Array.isArray(given)
  if (!isObject || given instanceof JsonNumber) throw wrong(field, 'an object', given)
  return given as Fields
}

function list(fields: Fields, field: string, counter: CountEntries): Fields[] {
  const given = fields[field] ?? []
  if (!Array.isArray(given)) throw wrong(field, 'a list', given)
  counter(field, given.length)
  return given.map((item) => object(item, field))
}

function text(fields: Fields, field: string): string {
  const given = fields[field] ?? ''
  if (typeof given !== 'string') throw wrong(field, 'a string', given)
  return given
}

function hex(fields: Fields, field: string): string {
  const given = text(fields, field)
  if (!/^[\da-f]*$/i.test(given)) throw wrong(field, 'hexadecimal digits', given)
  return given.toLowerCase()
}

/** An unsigned number of 32 bits; also accepted as 1.0 or 1e0, or as a text of digits. */
function count(fields: Fields, field: string): number {
  const given = fields[field] ?? 0
  const token = digits(given)
  const value = /^\d[\d.eE+-]{0,31}$/.test(token) ? Number(token) : Number.NaN
  if (!Number.isInteger(value) || value < 0 || value > 0xffff_ffff) {
    throw wrong(field, 'a whole number of 32 bits', given)
  }
  return value
}

function enumeration(fields: Fields, field: string): number {
  const given = fields[field] ?? 0
  if (typeof given !== 'number' || !Number.isInteger(given)) throw wrong(field, 'a number', given)
  return given
}

/** 64 bits do not fit into a number of JavaScript, so the digits are kept as text. */
function digits(given: unknown): string {
  if (given instanceof JsonNumber) return given.token
  return typeof given === 'string' || typeof given === 'number' ? String(given) : ''
}

function nanoseconds(fields: Fields, field: string): bigint {
  const given = fields[field] ?? 0
  const token = digits(given)
  const value = /^\d{1,20}$/.test(token) ? BigInt(token) : -1n
  if (value < 0n || BigInt.asUintN(64, value) !== value) {
    throw wrong(field, 'nanoseconds since 1970, of 64 bits', given)
  }
  return value
}

function int64(given: unknown, field: string): bigint {
  const token = digits(given)
  const value = /^-?\d{1,19}$/.test(token) ? BigInt(token) : undefined
  if (value === undefined || BigInt.asIntN(64, value) !== value) {
    throw wrong(field, 'a whole number of 64 bits', given)
  }
  return value
}

function double(given: unknown): Value {
  if (given instanceof JsonNumber) return new JsonText(given.token)
  if (typeof given === 'number') return new JsonText(String(given))
  if (typeof given === 'string' && /^(?:-?\d[\d.eE+-]*|NaN|-?Infinity)$/.test(given)) {
    const value = Number(given)
    if (given === 'NaN' || !Number.isNaN(value)) return doubleNumber(value)
  }
  throw wrong('doubleValue', 'a number', given)
}

export function jsonAnswer({ rejectedSpans, errorMessage }: PartialSuccess) {
  return rejectedSpans > 0 ? { partialSuccess: { rejectedSpans: String(rejectedSpans), errorMessage } } : {}
}
