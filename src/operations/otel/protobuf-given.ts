import { z } from 'zod'
import { traits } from '../../domain/fields.ts'
import { piecesOfProtobuf } from './protobuf.ts'
import { readExport } from './reading.ts'

/**
 * A request in protobuf, and the export read from it. The decoder is some 7 MB of code, which a server without such
 * clients need not load.
 */
export const ProtobufGiven = z
  .instanceof(Uint8Array)
  .transform((bytes) => readExport(piecesOfProtobuf(bytes)))
traits.add(ProtobufGiven, { isBytes: true })
