import { LogsBody, TracesBody } from './contract.ts'
import { logPiecesOfJson, piecesOfJson } from './json.ts'
import { readLogs } from './logs.ts'
import { readExport } from './reading.ts'

/** The names of the contracts for requests in protobuf (protobuf-given.ts). */
export const protobufContracts = { traces: 'otel.ProtobufGiven', logs: 'otel.LogsProtobufGiven' } as const

/** Requests in OTLP/JSON, and the exports read from them. */
export const TracesGiven = TracesBody.transform((body) => readExport(piecesOfJson(body)))
export const LogsGiven = LogsBody.transform((body) => readLogs(logPiecesOfJson(body)))
