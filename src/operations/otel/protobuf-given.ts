import { z } from 'zod'
import { traits } from '../../domain/fields.ts'
import { readLogs } from './logs.ts'
import { logPiecesOfProtobuf, piecesOfProtobuf } from './protobuf.ts'
import { readExport } from './reading.ts'

/**
 * Requests in protobuf, and the exports read from them. The decoder is some 7 MB of code, which a server without such
 * clients need not load.
 */
const ofTraces = z.instanceof(Uint8Array).transform((bytes) => readExport(piecesOfProtobuf(bytes)))
const ofLogs = z.instanceof(Uint8Array).transform((bytes) => readLogs(logPiecesOfProtobuf(bytes)))
for (const contract of [ofTraces, ofLogs]) traits.add(contract, { isBytes: true })

export const protobufGiven = { traces: ofTraces, logs: ofLogs }
