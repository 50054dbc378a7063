import { JsonText } from '../../domain/json/text.ts'

/** A span, decoded from either encoding. Numbers that a double would change are kept as text. */
export interface Span {
  traceId: string
  spanId: string
  parentSpanId: string
  traceState: string
  flags: number
  name: string
  kind: number
  startTimeUnixNano: bigint
  endTimeUnixNano: bigint
  attributes: Attributes
  droppedAttributesCount: number
  events: SpanEvent[]
  droppedEventsCount: number
  links: SpanLink[]
  droppedLinksCount: number
  status: { code: number; message: string }
}

export interface SpanEvent {
  timeUnixNano: bigint
  name: string
  attributes: Attributes
  droppedAttributesCount: number
}

export interface SpanLink {
  traceId: string
  spanId: string
  traceState: string
  flags: number
  attributes: Attributes
  droppedAttributesCount: number
}

/** The origin of a span: the program, and the library in it. */
export interface Resource {
  attributes: Attributes
  droppedAttributesCount: number
  schemaUrl: string
}

export interface Scope {
  name: string
  version: string
  attributes: Attributes
  droppedAttributesCount: number
  schemaUrl: string
}

/** The value of an attribute without its envelope; `writeJson` writes it. */
export type Value = string | boolean | null | JsonText | Value[] | { [key: string]: Value }

export type Attributes = ReadonlyMap<string, Value>

/** Why one span is left out, while the others of its request are accepted. */
export class SpanError extends Error {}

/** Most characters of a name from a client that a message shows. */
const maxShownLength = 100

export function cut(text: string): string {
  return text.length > maxShownLength ? `${text.slice(0, maxShownLength)}…` : text
}

export function shown(name: string): string {
  return JSON.stringify(cut(name))
}

const maxDepth = 100

/** Lists within lists: what is stored must not be nested deeper than all readers of JSON can follow. */
export function deeper(depth: number): number {
  if (depth >= maxDepth) throw new SpanError(`a value is nested deeper than ${maxDepth} levels`)
  return depth + 1
}

export function wholeNumber(value: bigint): JsonText {
  return new JsonText(String(value))
}

/**
 * Written so that it differs from an integer. JSON has neither NaN nor infinity, so they become texts, as in protobuf.
 */
export function doubleNumber(value: number): Value {
  if (!Number.isFinite(value)) return String(value)
  const text = Object.is(value, -0) ? '-0' : String(value)
  return new JsonText(/[.e]/.test(text) ? text : `${text}.0`)
}

/** SDKs keep 128 attributes, events and links of a span unless configured otherwise. */
export const maxEntries = 10_000

export const tooMany = `more than ${maxEntries} entries in all`

export type CountEntries = (field: string, entries: number) => void

/** Counts what is processed without a pause: all attributes, events, links and items of values of one span. */
export function countEntries(): CountEntries {
  let counted = 0
  return (field, entries) => {
    counted += entries
    if (counted > maxEntries) throw new SpanError(`${field}: ${tooMany}`)
  }
}

/**
 * By name. Of a name given twice the last value counts, as Codex has `thread.id` of the system and then of the
 * conversation. A resource or scope is refused, because neither value could be trusted.
 */
export function attributesOf(owner: string, pairs: Iterable<readonly [string, Value]>): Attributes {
  const isShared = owner === 'the resource' || owner === 'the scope'
  const attributes = new Map<string, Value>()
  for (const [key, value] of pairs) {
    if (attributes.has(key) && isShared) throw new SpanError(`${owner} has ${shown(key)} twice`)
    attributes.set(key, value)
  }
  return attributes
}

/** An object with the keys that were sent, even `__proto__`. */
export function objectOf(pairs: Iterable<readonly [string, Value]>): { [key: string]: Value } {
  const object: { [key: string]: Value } = Object.create(null)
  for (const [key, value] of pairs) object[key] = value
  return object
}
