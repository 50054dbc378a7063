import { TracesBody } from './contract.ts'
import { piecesOfJson } from './json.ts'
import { readExport } from './reading.ts'

/** The name of the contract for requests in protobuf (protobuf-given.ts). */
export const protobufContract = 'otel.ProtobufGiven'

/** A request in OTLP/JSON, and the export read from it. */
export const TracesGiven = TracesBody.transform((body) => readExport(piecesOfJson(body)))
