import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'

/** Text gathered before it is handed to the socket. */
const pieceLength = 64 * 1024

/**
 * Sends texts one after another, at the pace at which the client reads. The first piece is awaited before the head is
 * sent, so that a query that cannot run is a real refusal; a failure after that cuts the answer off.
 */
export async function sendInPieces(
  reply: FastifyReply,
  type: string,
  texts: AsyncIterable<string>,
): Promise<FastifyReply> {
  const pieces = inPieces(texts)[Symbol.asyncIterator]()
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

async function* inPieces(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let piece = ''
  for await (const text of texts) {
    piece += text
    if (piece.length >= pieceLength) {
      yield piece
      piece = ''
    }
  }
  if (piece !== '') yield piece
}
