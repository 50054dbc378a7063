import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'

/** Text gathered before it is handed to the socket. */
export const pieceLength = 64 * 1024

/**
 * Sends pieces at the pace at which the client reads. The first is awaited before the head is sent, so that what cannot be
 * answered is a real refusal; a failure after that cuts the answer off.
 */
export async function sendPieces(
  reply: FastifyReply,
  type: string,
  given: AsyncIterable<string | Uint8Array>,
): Promise<FastifyReply> {
  const pieces = given[Symbol.asyncIterator]()
  const first = await pieces.next()
  async function* all() {
    try {
      if (!first.done) yield first.value
      for (let next = first; !next.done; ) {
        next = await pieces.next()
        if (!next.done) yield next.value
      }
    } finally {
      await pieces.return?.(undefined)
    }
  }
  return reply.type(type).send(Readable.from(all(), { objectMode: false, highWaterMark: pieceLength }))
}
