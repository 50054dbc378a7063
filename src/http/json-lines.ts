import type { FastifyReply } from 'fastify'
import { sendInPieces } from './pieces.ts'

/** Sends one JSON text a line (https://jsonlines.org). */
export function sendJsonLines(
  reply: FastifyReply,
  lines: AsyncIterable<string>,
  type = 'application/jsonl',
): Promise<FastifyReply> {
  return sendInPieces(reply, type, ended(lines))
}

async function* ended(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield `${line}\n`
}
