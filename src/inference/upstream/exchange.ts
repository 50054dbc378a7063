import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http'
import { Agent as SecureAgent, request as secureRequest } from 'node:https'
import { Refusal, refuse } from '../../domain/refusals.ts'

/** Connections to the servers behind models. They are kept, so that a request does not wait for a handshake. */
export interface Connections {
  send(question: UpstreamQuestion, signal: AbortSignal): Promise<IncomingMessage>
  close(): void
}

export interface UpstreamQuestion {
  url: URL
  /** Absent where nothing is sent. */
  body?: string
  headers: Record<string, string>
  /** Until the head of the answer is there. */
  silenceMs: number
}

/** For the connection alone: whoever takes longer to be reached is not there. */
const connectMs = 10_000

/** Nothing was answered: another address may be asked. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
}

export function silent(silenceMs: number): Refusal {
  return refuse('upstream_timeout', { seconds: Math.round(silenceMs / 100) / 10 })
}

export function openConnections(): Connections {
  const options = { keepAlive: true, noDelay: true, scheduling: 'lifo' as const }
  const plain = new PlainAgent(options)
  const secure = new SecureAgent(options)

  function once({ url, body, headers, silenceMs }: UpstreamQuestion, signal: AbortSignal) {
    return new Promise<{ answer?: IncomingMessage; isStale: boolean }>((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const isSecure = url.protocol === 'https:'
      const send = isSecure ? secureRequest : plainRequest
      const request = send(url, {
        agent: isSecure ? secure : plain,
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          ...headers,
          ...(body !== undefined && {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
          }),
        },
      })
      const waiting = setTimeout(() => request.destroy(silent(silenceMs)), silenceMs)
      let connecting: NodeJS.Timeout | undefined
      const leave = () => request.destroy(signal.reason)
      const settled = () => {
        clearTimeout(waiting)
        clearTimeout(connecting)
      }
      signal.addEventListener('abort', leave, { once: true })
      request.once('socket', (socket) => {
        if (!socket.connecting) return
        connecting = setTimeout(
          () => request.destroy(new UnreachableError('it could not be reached in time')),
          connectMs,
        )
        socket.once(isSecure ? 'secureConnect' : 'connect', () => clearTimeout(connecting))
      })
      request.once('response', (answer) => {
        settled()
        // The body ends with the signal, too.
        answer.once('close', () => signal.removeEventListener('abort', leave))
        resolve({ answer, isStale: false })
      })
      request.once('error', (error: NodeJS.ErrnoException) => {
        settled()
        signal.removeEventListener('abort', leave)
        if (signal.aborted) return reject(signal.reason)
        // A kept connection that its server closed as this was sent. It has taken nothing of it.
        if (request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')) {
          return resolve({ isStale: true })
        }
        const isOurs = error instanceof Refusal || error instanceof UnreachableError
        reject(isOurs ? error : new UnreachableError(error.code ?? error.message))
      })
      request.end(body)
    })
  }

  return {
    async send(question, signal) {
      for (;;) {
        const { answer } = await once(question, signal)
        if (answer !== undefined) return answer
      }
    },
    close() {
      plain.destroy()
      secure.destroy()
    },
  }
}

/** What comes of a body, piece by piece, at the pace of the reader. Silence is counted only while somebody waits. */
export async function* piecesOf(answer: IncomingMessage, silenceMs: number): AsyncGenerator<Buffer> {
  let isWaiting = false
  const alarm = setTimeout(() => {
    if (isWaiting) answer.destroy(silent(silenceMs))
    else alarm.refresh()
  }, silenceMs)
  const source = answer[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  try {
    for (;;) {
      isWaiting = true
      alarm.refresh()
      const { done, value } = await source.next()
      isWaiting = false
      if (done) return
      yield value
    }
  } finally {
    clearTimeout(alarm)
    answer.destroy()
  }
}

/** A whole body as text, up to a bound. */
export async function textOf(answer: IncomingMessage, silenceMs: number, most: number): Promise<string> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of piecesOf(answer, silenceMs)) {
    length += piece.length
    if (length > most) throw refuse('upstream_failed', { why: `its answer has more than ${most} bytes` })
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}
