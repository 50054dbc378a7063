import { fromBinary, fromJson, type JsonValue, toBinary, toJson } from '@bufbuild/protobuf'
import {
  ExportTraceServiceRequestSchema,
  ExportTraceServiceResponseSchema,
} from '../../src/operations/otel/generated/opentelemetry/proto/collector/trace/v1/trace_service_pb.ts'

/** Exports in OTLP/JSON; a test overrides what matters to it. */

export const otlpTraceId = '0af7651916cd43dd8448eb211c80319c'
export const otlpSpanId = 'b7ad6b7169203331'

export type AnyValue = Record<string, unknown>

export interface KeyValue {
  key: string
  value?: AnyValue
}

/** Texts, booleans, integers and doubles by their JavaScript type; anything else is already a message. */
export function attributesOf(values: Record<string, unknown>): KeyValue[] {
  return Object.entries(values).map(([key, value]) => ({ key, value: anyValue(value) }))
}

function anyValue(value: unknown): AnyValue {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'bigint') return { intValue: String(value) }
  if (typeof value === 'number')
    return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  return value as AnyValue
}

export function spanOf(attributes: Record<string, unknown> = {}, fields: Record<string, unknown> = {}) {
  return {
    traceId: otlpTraceId,
    spanId: otlpSpanId,
    name: 'chat',
    kind: 3,
    startTimeUnixNano: '1767323045123456789',
    endTimeUnixNano: '1767323046500000999',
    attributes: attributesOf(attributes),
    ...fields,
  }
}

export function exportOf(
  spans: object[],
  resource: Record<string, unknown> = { 'wandb.entity': 'acme', 'wandb.project': 'qa' },
) {
  const group = { resource: { attributes: attributesOf(resource) }, scopeSpans: [{ spans }] }
  return { resourceSpans: [group] as [typeof group] }
}

/** The same export in protobuf. Protobuf's own mapping to JSON has base64 where OTLP has hexadecimal. */
export function protobufOf(body: object): Buffer {
  const json = withBase64Ids(body) as JsonValue
  return Buffer.from(
    toBinary(ExportTraceServiceRequestSchema, fromJson(ExportTraceServiceRequestSchema, json)),
  )
}

export const withBase64Ids = (body: object): unknown =>
  JSON.parse(JSON.stringify(body), (key, value) =>
    /^(?:traceId|spanId|parentSpanId)$/.test(key) ? Buffer.from(value, 'hex').toString('base64') : value,
  )

export function protobufAnswerOf(bytes: Uint8Array): unknown {
  return toJson(ExportTraceServiceResponseSchema, fromBinary(ExportTraceServiceResponseSchema, bytes))
}
