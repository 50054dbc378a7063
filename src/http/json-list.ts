import type { FastifyReply } from 'fastify'
import { pieceLength, sendPieces } from './pieces.ts'

/**
 * Sends `{"<name>": [item, …]}` at the pace at which the client reads, so that a long list is never held as one text. The
 * items are JSON texts. `others` are members behind the list.
 */
export function sendJsonList(
  reply: FastifyReply,
  name: string,
  items: AsyncIterable<string>,
  others: Readonly<Record<string, unknown>> = {},
): Promise<FastifyReply> {
  return sendPieces(reply, 'application/json; charset=utf-8', inPieces(name, items, others))
}

async function* inPieces(
  name: string,
  items: AsyncIterable<string>,
  others: Readonly<Record<string, unknown>>,
): AsyncGenerator<string> {
  let piece = `{${JSON.stringify(name)}:[`
  let first = true
  let behind = ''
  for await (const item of items) {
    piece += first ? item : `,${item}`
    first = false
    if (piece.length >= pieceLength) {
      yield piece
      piece = ''
    }
  }
  for (const [member, value] of Object.entries(others))
    behind += `,${JSON.stringify(member)}:${JSON.stringify(value)}`
  yield `${piece}]${behind}}`
}
