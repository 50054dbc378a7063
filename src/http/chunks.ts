import type { Readable } from 'node:stream'
import { IncomingMessage } from '../threads/node-http.ts'

/** Less is not worth it, and may be what a parser keeps for itself. */
const least = 16 * 1024

/**
 * Frees a chunk that a connection brought and that was copied to where it goes; what shares its memory with other chunks stays.
 * Left to the garbage collector it would count as memory beside the heap, and for each 64 MB of that V8 looks through the whole
 * heap, which holds up every request for 10 ms and more.
 */
export function freeChunk(from: Readable, { buffer, byteLength }: Uint8Array): void {
  // What does not come by a connection belongs to whoever made it.
  if (!(from instanceof IncomingMessage) || !(buffer instanceof ArrayBuffer)) return
  if (byteLength >= least && byteLength === buffer.byteLength) buffer.transfer(0)
}
