import type { FastifyReply } from 'fastify'
import { pieceLength, sendPieces } from './pieces.ts'

/** Sends one JSON text a line (https://jsonlines.org). */
export function sendJsonLines(
  reply: FastifyReply,
  lines: AsyncIterable<string>,
  type = 'application/jsonl',
): Promise<FastifyReply> {
  return sendPieces(reply, type, inPieces(lines))
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
