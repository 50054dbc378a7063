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
  /** What the server answered, decompressed, also where its answer was withheld. */
  status: number
  received: Buffer
  /** What became of an answer that the client did not get. */
  withheld?: Fault
}

/** What happens to an answer: the client is told 500 instead, or its connection ends without a word. */
export type Fault = 'error' | 'cut'

export interface RecordingProxy {
  address: string
  /** Everything that was asked, in the order in which it was answered. */
  exchanges: Exchange[]
  /** The next request to this path is done by the server, and its client does not learn of it. */
  withholdNext(path: string, fault: Fault): void
}

/** Stands between a client and a server and keeps what they said to each other. */
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
    // A server that is gone is told to the client as what it would see itself: a connection that ends.
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

/** What belongs to a connection is for the next hop alone. */
function endToEnd({ connection: _, 'keep-alive': __, ...headers }: IncomingHttpHeaders): IncomingHttpHeaders {
  return headers
}
