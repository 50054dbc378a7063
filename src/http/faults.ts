import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ConnectionError, FastifyInstance } from 'fastify'
import { type Refusal, refuse } from '../domain/refusals.ts'
import { readRestAfterFault } from './lingering.ts'
import { newRequestId } from './request-ids.ts'

// An import would read every name that the module exports, and thereby load Node's HTTP client: 13 MB.
const { maxHeaderSize, STATUS_CODES } = process.getBuiltinModule('node:http')

/** What a client may still send after a fault before its connection is cut. */
const maxBehind = 1024 * 1024

/**
 * Input that is not a valid request, or does not arrive completely, is answered like a refused request, but reaches no
 * route and no hook.
 */
export function answerFaults(
  note: (refusal: Refusal, id: string, error: ConnectionError) => void,
): (error: ConnectionError, socket: Socket) => void {
  const answered = new WeakMap<Socket, ReturnType<typeof readRestAfterFault>>()
  return (error, socket) => {
    const rest = answered.get(socket)
    if (rest !== undefined) return rest.arrived()
    if (!socket.writable || hasBegunAnswer(socket)) {
      socket.destroy()
      return
    }
    const id = newRequestId()
    const refusal = refusalOf(error)
    note(refusal, id, error)
    answered.set(socket, readRestAfterFault(socket, maxBehind))
    socket.end(answerOf(refusal, id))
  }
}

/** What Node would answer itself, with nothing but a status, or take in a way that a proxy in front may not. */
export function refuseOddRequests(app: FastifyInstance): void {
  app.server.on('checkExpectation', (request, answer) => app.server.emit('request', request, answer))
  app.addHook('onRequest', ({ raw }, reply, done) => {
    const { host, expect, 'transfer-encoding': coding } = raw.headers
    if (host === undefined && raw.httpVersion === '1.1') {
      reply.header('connection', 'close')
      throw refuse('malformed_http', { why: 'it has no Host header' })
    }
    // Node uses the first Host, and a proxy in front may have used another (RFC 9112, section 3.2).
    if (hasSecondHost(raw.rawHeaders)) {
      reply.header('connection', 'close')
      throw refuse('malformed_http', { why: 'it has more than one Host header' })
    }
    // Node frames the body by the last coding and hands out what the others left (RFC 9112, section 6.1).
    if (coding !== undefined && !/^chunked$/i.test(coding)) {
      reply.header('connection', 'close')
      throw refuse('malformed_http', { why: 'its Transfer-Encoding is not chunked' })
    }
    if (expect !== undefined && !/^100-continue$/i.test(expect))
      throw refuse('unknown_expectation', { received: expect.slice(0, 100) })
    done()
  })
}

function hasSecondHost(namesAndValues: readonly string[]): boolean {
  let found = 0
  for (let at = 0; at < namesAndValues.length; at += 2) {
    const name = namesAndValues[at] as string
    if (name.length === 4 && name.toLowerCase() === 'host') found++
  }
  return found > 1
}

function refusalOf(error: ConnectionError): Refusal {
  const code: string = error.code
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return refuse('request_too_slow')
  if (code === 'HPE_HEADER_OVERFLOW') return refuse('headers_too_large', { limit: maxHeaderSize })
  const { reason } = error as { reason?: string }
  return refuse('malformed_http', { why: reason || error.message })
}

function answerOf({ status, code, message }: Refusal, id: string): string {
  const body = JSON.stringify({ reason: message, code })
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${id}`,
    'connection: close',
    '',
    body,
  ].join('\r\n')
}

/** The check that Node's own handler makes: a second answer in the middle of one would be read as part of it. */
function hasBegunAnswer(socket: Socket): boolean {
  return (socket as { _httpMessage?: ServerResponse })._httpMessage?.headersSent === true
}
