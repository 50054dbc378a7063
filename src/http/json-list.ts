import type { FastifyReply } from 'fastify'
import { sendInPieces } from './pieces.ts'

/** Sends `{"<name>": [...]}` of any length; each text is one JSON value. */
export function sendJsonList(
  reply: FastifyReply,
  name: string,
  texts: AsyncIterable<string>,
): Promise<FastifyReply> {
  return sendInPieces(reply, 'application/json; charset=utf-8', listed(name, texts))
}

async function* listed(name: string, texts: AsyncIterable<string>): AsyncGenerator<string> {
  let before = `{${JSON.stringify(name)}:[`
  for await (const text of texts) {
    yield before + text
    before = ','
  }
  yield before === ',' ? ']}' : `${before}]}`
}
