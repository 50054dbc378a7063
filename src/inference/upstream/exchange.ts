import type { IncomingMessage, RequestOptions } from 'node:http'
import { Agent as SecureAgent, request as secureRequest } from 'node:https'
import { whenAborted } from '../../../packages/waiting/index.ts'
import { Refusal, refuse } from '../../domain/refusals.ts'
import { Agent as PlainAgent, request as plainRequest } from '../../threads/node-http.ts'
import { silent } from './pieces.ts'

/** Connections to the servers behind models. They are kept open, so that a request does not wait for a handshake. */
interface Connections {
  /** `resent` is called when an idle connection was closed before anything was sent on it. */
  send(question: UpstreamQuestion, signal: AbortSignal, resent?: () => void): Promise<IncomingMessage>
  close(): void
}

interface UpstreamQuestion {
  target: UpstreamEndpoint
  /** Absent if nothing is sent. */
  body?: string
  headers: Readonly<Record<string, string>>
  /** The most time until the head of the answer arrives. */
  silenceMs: number
}

/** An address in the form of `node:http`: parsing a URL takes as long as sending a request. */
export interface UpstreamEndpoint extends Pick<RequestOptions, 'hostname' | 'port' | 'path'> {
  isSecure: boolean
  /** The value of the `host` header. */
  host: string
}

export function endpointOfUrl({ protocol, hostname, port, host, pathname, search }: URL): UpstreamEndpoint {
  return {
    isSecure: protocol === 'https:',
    // Brackets around an IPv6 address belong only in a URL.
    hostname: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname,
    ...(port !== '' && { port }),
    path: pathname + search,
    host,
  }
}

/** For connecting only: a server that takes longer counts as unreachable. */
const connectMs = 10_000

/**
 * Less than servers keep an idle connection (5 s for llama-server and vLLM's uvicorn): what is written as they close it
 * is lost, and nothing tells whether it was read before.
 */
const maxIdleMs = 4_000

/** Nothing was sent, so another address may be asked. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
}

/** An idle connection that was closed before anything was sent on it. */
class StaleConnectionError extends Error {
  override readonly name = 'StaleConnectionError'
}

/** A plain connection leads to a server nearby, for which nobody sets a proxy. Node reads NO_PROXY, too. */
const throughProxy = (): object => ({ proxyEnv: process.env })

export function openConnections(): Connections {
  const options = { keepAlive: true, noDelay: true, scheduling: 'lifo' as const, timeout: maxIdleMs }
  const plain = new PlainAgent(options)
  const secure = new SecureAgent({ ...options, ...throughProxy() })
  const secureOnce = new SecureAgent(throughProxy())

  /** Sends it once: on an idle connection if there is one, or on a new one that is not kept. */
  function once(question: UpstreamQuestion, signal: AbortSignal, isNew: boolean): Promise<IncomingMessage> {
    const { target, body, headers, silenceMs } = question
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const { isSecure, hostname, port, path, host } = target
      const send = isSecure ? secureRequest : plainRequest
      // A list of headers is written unchanged.
      const lines = ['host', host, ...Object.entries(headers).flat()]
      if (body !== undefined)
        lines.push('content-type', 'application/json', 'content-length', String(Buffer.byteLength(body)))
      const request = send({
        agent: isSecure ? (isNew ? secureOnce : secure) : !isNew && plain,
        hostname,
        port,
        path,
        method: body === undefined ? 'GET' : 'POST',
        headers: lines,
      })
      /** Some of it may have arrived there. */
      let isSent = false
      const late = () => (isSent ? silent(silenceMs) : tooFar())
      const waiting = setTimeout(() => request.destroy(late()), silenceMs)
      let connecting: NodeJS.Timeout | undefined
      // Without an error: the connection may be idle by now, with nothing to handle one.
      const stay = whenAborted(signal, () => request.destroy())
      const settled = () => {
        clearTimeout(waiting)
        clearTimeout(connecting)
      }
      const write = () => {
        if (request.destroyed) return
        isSent = true
        request.end(body)
      }
      request.once('socket', (socket) => {
        if (!socket.connecting) return afterPoll(write)
        connecting = setTimeout(() => request.destroy(tooFar()), connectMs)
        socket.once(isSecure ? 'secureConnect' : 'connect', () => {
          clearTimeout(connecting)
          write()
        })
      })
      request.once('response', (answer) => {
        settled()
        // The reader of the answer gets the error; there may be no reader any more.
        answer.on('error', () => {})
        // The signal also ends the body.
        answer.once('close', stay)
        resolve(answer)
      })
      request.once('upgrade', (_answer, socket) => {
        socket.destroy()
        settled()
        stay()
        reject(refuse('upstream_failed', { why: 'it answered 101, a change of protocol' }))
      })
      request.on('error', (error: NodeJS.ErrnoException) => {
        settled()
        stay()
        if (signal.aborted) return reject(signal.reason)
        const isOurs = error instanceof Refusal || error instanceof UnreachableError
        if (isSent || isOurs) return reject(error)
        const why = error.code ?? error.message
        reject(request.reusedSocket ? new StaleConnectionError(why) : new UnreachableError(why))
      })
    })
  }

  return {
    async send(question, signal, resent) {
      try {
        return await once(question, signal, false)
      } catch (error) {
        if (!(error instanceof StaleConnectionError)) throw error
      }
      resent?.()
      return once(question, signal, true)
    },
    close() {
      plain.destroy()
      secure.destroy()
      secureOnce.destroy()
    },
  }
}

const tooFar = () => new UnreachableError('it could not be reached in time')

/**
 * After the event loop has read everything that had arrived: a connection that the other side has closed is known to be
 * closed then. The first turn may be the end of one that looked for events before.
 */
function afterPoll(then: () => void): void {
  setImmediate(() => setImmediate(then))
}
