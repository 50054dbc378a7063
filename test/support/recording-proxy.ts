import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { brotliDecompressSync, unzipSync, zstdDecompressSync } from 'node:zlib'

export interface Exchange {
  method: string
  path: string
  contentType: string
  sent: Buffer
  /** The server's answer, decompressed, even if it was withheld. */
  status: number
  received: Buffer
  /** What the client got instead of the answer, if it was withheld. */
  withheld?: Fault
}

/** The fate of an answer: the client gets a 500 instead, or its connection ends without one. */
export type Fault = 'error' | 'cut'

export interface RecordingProxy {
  address: string
  /** All requests, in the order in which they were answered. */
  exchanges: Exchange[]
  /** The server processes the next request to this path, and its client does not learn of it. */
  withholdNext(path: string, fault: Fault): void
}

/** Stands between a client and a server and records their exchanges. */
export async function startRecordingProxy(
  t: Pick<TestContext, 'after'>,
  target: string,
): Promise<RecordingProxy> {
  const exchanges: Exchange[] = []
  const faults: { path: string; fault: Fault }[] = []

  async function pass(incoming: IncomingMessage) {
    const { method = 'GET', url: path = '/', headers } = incoming
    const sent = await buffer(incoming)
    const outgoing = request(new URL(path, target), { method, headers: { ...headers, connection: 'close' } })
    outgoing.end(sent)
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    const body = await buffer(answer)
    const exchange: Exchange = {
      method,
      path,
      contentType: headers['content-type'] ?? '',
      sent,
      status: answer.statusCode as number,
      received: decoded(body, answer.headers['content-encoding']),
    }
    exchanges.push(exchange)
    return { exchange, headers: answer.headers, body }
  }

  const server = createServer((incoming, response) => {
    const respond = async () => {
      const { exchange, headers, body } = await pass(incoming)
      const planned = faults.findIndex(({ path }) => path === exchange.path)
      const [fault] = planned < 0 ? [] : faults.splice(planned, 1)
      if (fault) exchange.withheld = fault.fault
      if (fault?.fault === 'cut') return void response.destroy()
      if (fault) response.writeHead(500, { 'content-type': 'application/json' }).end('{"reason":"withheld"}')
      else response.writeHead(exchange.status, endToEnd(headers)).end(body)
    }
    // If the server is gone, the client sees what it would see itself: a connection that ends.
    respond().catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  })
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    exchanges,
    withholdNext: (path, fault) => faults.push({ path, fault }),
  }
}

function decoded(body: Buffer, encoding: string | undefined): Buffer {
  if (encoding === 'br') return brotliDecompressSync(body)
  if (encoding === 'zstd') return zstdDecompressSync(body)
  return encoding === 'gzip' || encoding === 'deflate' ? unzipSync(body) : body
}

/** Headers of the connection apply to the next hop only. */
function endToEnd({ connection: _, 'keep-alive': __, ...headers }: IncomingHttpHeaders): IncomingHttpHeaders {
  return headers
}
