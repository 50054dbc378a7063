import type { IncomingMessage } from 'node:http'
import { Refusal } from '../../domain/refusals.ts'
import type { AnswerEvent } from '../model.ts'
import type { AnswerReader } from './answer-reader.ts'
import type { TakenAnswer } from './asking.ts'
import { cutOff, isBroken, readingError, unreadableReply, withoutKey } from './failures.ts'
import { contentTypeOf, piecesOf, textOf } from './pieces.ts'
import type { UpstreamServer } from './server.ts'
import { createEventReader } from './server-events.ts'

/** A whole answer, with the logprobs of its prompt. */
const maxWhole = 256 * 1024 * 1024

/** How long a server may take to report its usage after it has finished. */
const tailMs = 2_000

/** A comment is a sign of life, too; an unfinished line is not. */
const hasLine = (piece: Buffer) => piece.includes(0x0a) || piece.includes(0x0d)

interface Reading {
  server: Pick<UpstreamServer, 'addresses' | 'silenceMs'>
  reader: AnswerReader
  /** Asked for in one piece. */
  isWhole: boolean
  signal: AbortSignal
}

interface BegunAnswer extends Reading {
  begun: TakenAnswer
  take: (asking: Promise<TakenAnswer>) => Promise<TakenAnswer>
}

/** The events of an answer, or of another address if this one is silent before its first. */
export async function* eventsOf({ begun, take, ...reading }: BegunAnswer): AsyncGenerator<AnswerEvent[]> {
  const { server, reader } = reading
  for (let taken = begun; ; ) {
    try {
      for await (const events of eventsIn(taken.answer, reading)) {
        taken.sign()
        yield events
      }
      return
    } catch (error) {
      if (error instanceof Refusal)
        for (const { key } of server.addresses.all) error.message = withoutKey(error.message, key)
      if (reader.hasBegun()) throw error
      taken = await take(taken.again(error))
    }
  }
}

function eventsIn(response: IncomingMessage, reading: Reading): AsyncGenerator<AnswerEvent[]> {
  const type = contentTypeOf(response)
  if (!reading.isWhole && type.startsWith('text/event-stream')) return streamed(response, reading)
  // Some servers stream nothing.
  if (type.includes('json')) return whole(response, reading)
  response.destroy()
  throw unreadableReply(response)
}

async function* whole(
  response: IncomingMessage,
  { server, reader, signal }: Reading,
): AsyncGenerator<AnswerEvent[]> {
  const text = await textOf(response, server.silenceMs, maxWhole).catch((error: unknown) => {
    throw readingError(error, signal)
  })
  const events = reader.read(text)
  checkEnd(reader)
  yield events
}

async function* streamed(
  response: IncomingMessage,
  { server, reader, signal }: Reading,
): AsyncGenerator<AnswerEvent[]> {
  const lines = createEventReader()
  let alarm: NodeJS.Timeout | undefined
  try {
    for await (const piece of piecesOf(response, server.silenceMs, hasLine)) {
      clearTimeout(alarm)
      const events: AnswerEvent[] = []
      try {
        for (const line of lines.read(piece)) for (const event of reader.read(line)) events.push(event)
      } finally {
        // What came together with a failure was still said.
        if (events.length > 0) yield events
      }
      if (lines.isDone) break
      // The usage may come after the answer, and nobody has to wait for it.
      if (reader.isComplete()) alarm = setTimeout(() => response.destroy(), tailMs)
    }
  } catch (error) {
    // Of a complete answer nothing is missing.
    if (signal.aborted || !isBroken(error) || !reader.isComplete()) {
      yield* cutOf(reader)
      throw readingError(error, signal)
    }
  } finally {
    clearTimeout(alarm)
  }
  yield* cutOf(reader)
  checkEnd(reader)
}

function* cutOf(reader: AnswerReader): Generator<AnswerEvent[]> {
  const events = reader.cut()
  if (events.length > 0) yield events
}

function checkEnd(reader: AnswerReader): void {
  if (!reader.isComplete()) throw cutOff(new Error('the answer has no end'))
}
