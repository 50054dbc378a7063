import type { IncomingMessage } from 'node:http'
import { type Refusal, refuse } from '../../domain/refusals.ts'

/** The refusal for a server that has sent nothing for so long. */
export function silent(silenceMs: number): Refusal {
  return refuse('upstream_timeout', { seconds: Math.round(silenceMs / 100) / 10 })
}

/** The most bytes that are buffered before the reader asks for them. */
const maxUnread = 64 * 1024

/**
 * The pieces of a body, at the pace of the reader: everything that has arrived since the last piece is one piece,
 * including the chunks of one read of the socket. The timeout runs only while the reader waits, and until a piece is a
 * sign of life: a server that sends byte after byte of nothing counts as silent. Written by hand because the iterator
 * of a stream costs more per piece than everything else in reading it.
 */
export function piecesOf(
  answer: IncomingMessage,
  silenceMs: number,
  isSign: (piece: Buffer) => boolean,
): AsyncIterableIterator<Buffer> {
  let waiting: PromiseWithResolvers<IteratorResult<Buffer>> | undefined
  let unread: Buffer[] = []
  let unreadBytes = 0
  let isAlive = true
  let isOver = answer.readableEnded
  let failure: unknown
  const alarm = setTimeout(() => {
    if (waiting !== undefined) answer.destroy(silent(silenceMs))
    else alarm.refresh()
  }, silenceMs)

  function taken(): Buffer {
    const piece = unread.length === 1 ? (unread[0] as Buffer) : Buffer.concat(unread, unreadBytes)
    unread = []
    unreadBytes = 0
    isAlive = isSign(piece)
    if (answer.isPaused()) answer.resume()
    return piece
  }

  const came = (piece: Buffer) => {
    unread.push(piece)
    unreadBytes += piece.length
    if (waiting === undefined) {
      if (unreadBytes >= maxUnread) answer.pause()
    } else if (unread.length === 1) queueMicrotask(give)
  }
  const give = () => {
    if (waiting === undefined || unread.length === 0) return
    const { resolve } = waiting
    waiting = undefined
    resolve({ done: false, value: taken() })
  }
  const failed = (error: unknown) => {
    if (isOver || failure !== undefined) return
    failure = error
    leave()
    if (unread.length === 0) waiting?.reject(error)
  }
  const ended = () => {
    isOver = true
    leave()
    if (unread.length === 0) waiting?.resolve({ done: true, value: undefined })
  }
  const closed = () => failed(cutShort())
  function leave(): void {
    clearTimeout(alarm)
    answer.off('data', came).off('end', ended).off('error', failed).off('close', closed)
  }

  if (answer.errored) failed(answer.errored)
  else if (answer.destroyed && !isOver) failed(cutShort())
  else if (!isOver) answer.on('end', ended).on('error', failed).on('close', closed).on('data', came)
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next() {
      if (unread.length > 0) return Promise.resolve({ done: false, value: taken() })
      if (failure !== undefined) return Promise.reject(failure)
      if (isOver) return Promise.resolve({ done: true, value: undefined })
      if (isAlive) alarm.refresh()
      waiting = Promise.withResolvers()
      return waiting.promise
    },
    async return() {
      leave()
      isOver = true
      letEnd(answer)
      return { done: true, value: undefined }
    },
  }
}

/** The error of Node for a stream that is destroyed without one. */
const cutShort = () =>
  Object.assign(new Error('the answer was cut off'), { code: 'ERR_STREAM_PREMATURE_CLOSE' })

/** Longer than a complete body needs for its end. */
const endMs = 1_000

/**
 * Waits for the end of a body, so that its connection can be used again. To read no more at all, destroy the request
 * instead.
 */
function letEnd(answer: IncomingMessage): void {
  if (answer.destroyed || answer.readableEnded) return
  const late = setTimeout(() => answer.destroy(), endMs)
  late.unref()
  answer.once('close', () => clearTimeout(late))
  answer.resume()
}

const never = () => false

/** Media types have no case. */
export const contentTypeOf = ({ headers }: IncomingMessage) => headers['content-type']?.toLowerCase() ?? ''

/** Leaves out a byte order mark. */
const decoder = new TextDecoder()

/** A body up to so many bytes, as text: more of it is not read. */
export async function beginningOf(answer: IncomingMessage, silenceMs: number, most: number): Promise<string> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of piecesOf(answer, silenceMs, never)) {
    pieces.push(piece)
    length += piece.length
    if (length < most) continue
    answer.destroy()
    break
  }
  return decoder.decode(Buffer.concat(pieces).subarray(0, most))
}

/** A whole body as text, with at most `most` bytes; it must arrive within `silenceMs`. */
export async function textOf(answer: IncomingMessage, silenceMs: number, most: number): Promise<string> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of piecesOf(answer, silenceMs, never)) {
    length += piece.length
    if (length > most) throw refuse('upstream_failed', { why: `its answer has more than ${most} bytes` })
    pieces.push(piece)
  }
  return decoder.decode(Buffer.concat(pieces))
}
