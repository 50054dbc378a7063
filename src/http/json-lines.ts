import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'

/** Lines gathered before they are handed to the socket. */
const pieceLength = 64 * 1024

/**
 * Sends one JSON text a line (https://jsonlines.org), at the pace at which the client reads. The first piece is awaited
 * before the head is sent, so that a query that cannot run is a real refusal; a failure after that cuts the answer off.
 */
export async function sendJsonLines(
  reply: FastifyReply,
  lines: AsyncIterable<string>,
): Promise<FastifyReply> {
  const pieces = inPieces(lines)[Symbol.asyncIterator]()
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
  return reply
    .type('application/jsonl')
    .send(Readable.from(all(), { objectMode: false, highWaterMark: pieceLength }))
}

async function* inPieces(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let piece = ''
  for await (const line of lines) {
    piece += `${line}\n`
    if (piece.length >= pieceLength) {
      yield piece
      piece = ''
    }
  }
  if (piece !== '') yield piece
}
