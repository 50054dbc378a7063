import type { Readable } from 'node:stream'
import { IncomingMessage } from '../threads/node-http.ts'

/** Smaller chunks are not worth it, and may belong to a parser. */
const least = 16 * 1024

/**
 * Frees a chunk from a connection after it was copied; a chunk that shares its memory with others is left alone. If
 * chunks were left to the garbage collector they would count as external memory, and for each 64 MB of that V8 scans
 * the whole heap, which delays every request by 10 ms and more.
 */
export function freeChunk(from: Readable, { buffer, byteLength }: Uint8Array): void {
  // A chunk that is not from a connection belongs to the code that made it.
  if (!(from instanceof IncomingMessage) || !(buffer instanceof ArrayBuffer)) return
  if (byteLength >= least && byteLength === buffer.byteLength) buffer.transfer(0)
}
