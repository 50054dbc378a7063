import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'

/** How much text is collected before it is written to the socket. */
const chunkLength = 64 * 1024

/** Sends one JSON text per line (https://jsonlines.org). */
export function sendJsonLines(
  reply: FastifyReply,
  lines: AsyncIterable<string>,
  type = 'application/jsonl',
): Promise<FastifyReply> {
  return sendChunks(reply, type, collected(lines, { after: '\n' }))
}

/**
 * Sends `{"<name>": [item, …]}` at the pace of the client, so that a long list is never in memory as one text. The
 * items are JSON texts. `others` are members after the list; they are read when the list has ended.
 */
export function sendJsonList(
  reply: FastifyReply,
  name: string,
  items: AsyncIterable<string>,
  others: Readonly<Record<string, unknown>> = {},
): Promise<FastifyReply> {
  const end = () =>
    Object.entries(others).reduce(
      (text, [member, value]) => `${text},${JSON.stringify(member)}:${JSON.stringify(value)}`,
      ']',
    )
  const frame = { start: `{${JSON.stringify(name)}:[`, between: ',', end: () => `${end()}}` }
  return sendChunks(reply, 'application/json; charset=utf-8', collected(items, frame))
}

async function* collected(
  texts: AsyncIterable<string>,
  { start = '', between = '', after = '', end = () => '' },
): AsyncGenerator<string> {
  let chunk = start
  let separator = ''
  for await (const text of texts) {
    chunk += separator + text + after
    separator = between
    if (chunk.length >= chunkLength) {
      yield chunk
      chunk = ''
    }
  }
  chunk += end()
  if (chunk !== '') yield chunk
}

/**
 * Sends chunks at the pace of the client. The first chunk is awaited before the head is sent, so that what cannot be
 * answered becomes a proper refusal; a failure after that cuts the answer off.
 */
export async function sendChunks(
  reply: FastifyReply,
  type: string,
  source: AsyncIterable<string | Uint8Array>,
): Promise<FastifyReply> {
  const chunks = source[Symbol.asyncIterator]()
  const all = startingWith(await chunks.next(), chunks)
  return reply.type(type).send(Readable.from(all, { objectMode: false, highWaterMark: chunkLength }))
}

/** Of an iterator whose first value was awaited. It ends with its reader. */
export async function* startingWith<Value>(
  first: IteratorResult<Value, unknown>,
  others: AsyncIterator<Value>,
): AsyncGenerator<Value, void> {
  try {
    for (let next = first; !next.done; next = await others.next()) yield next.value
  } finally {
    await others.return?.()
  }
}
