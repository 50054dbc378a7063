import { z } from 'zod'
import { traits } from '../../domain/fields.ts'
import { readLogs } from './logs.ts'
import { logPiecesOfProtobuf, piecesOfProtobuf } from './protobuf.ts'
import { readExport } from './reading.ts'

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
for (const contract of [TracesProtobuf, LogsProtobuf]) traits.add(contract, { isBytes: true })
