import { LogsBody, MetricsBody, TracesBody } from './contract.ts'
import { logPiecesOfJson, piecesOfJson } from './json.ts'
import { readLogs } from './logs.ts'
import { readExport } from './reading.ts'

/** Requests in OTLP/JSON, and the exports read from them. */
export const TracesGiven = TracesBody.transform((body) => readExport(piecesOfJson(body)))
export const LogsGiven = LogsBody.transform((body) => readLogs(logPiecesOfJson(body)))
export const MetricsGiven = MetricsBody.transform(() => undefined)
