import { fromBinary, fromJson, type JsonValue, toBinary, toJson } from '@bufbuild/protobuf'
import {
  ExportLogsServiceRequestSchema,
  ExportLogsServiceResponseSchema,
} from '../../../src/operations/otel/generated/opentelemetry/proto/collector/logs/v1/logs_service_pb.ts'
import { attributesOf, withBase64Ids } from '../../support/otlp.ts'

/** Log records in OTLP/JSON. */

export const recordTime = 1767323045123456789n

export function recordOf(attributes: Record<string, unknown> = {}, fields: Record<string, unknown> = {}) {
  return { timeUnixNano: String(recordTime), attributes: attributesOf(attributes), ...fields }
}

export function logsOf(
  logRecords: object[],
  resource: Record<string, unknown> = { 'wandb.entity': 'acme', 'wandb.project': 'qa' },
  scope = 'test',
) {
  const group = {
    resource: { attributes: attributesOf(resource) },
    scopeLogs: [{ scope: { name: scope }, logRecords }],
  }
  return { resourceLogs: [group] as [typeof group] }
}

export function protobufLogsOf(body: object): Buffer {
  const json = withBase64Ids(body) as JsonValue
  return Buffer.from(toBinary(ExportLogsServiceRequestSchema, fromJson(ExportLogsServiceRequestSchema, json)))
}

export function protobufLogsAnswerOf(bytes: Uint8Array): unknown {
  return toJson(ExportLogsServiceResponseSchema, fromBinary(ExportLogsServiceResponseSchema, bytes))
}
