import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  path: string
  headers: IncomingHttpHeaders
  body: string
}

/** A receiver of webhooks on a port of its own. `answer` decides what each message gets. */
export async function startReceiver(
  t: { after(close: () => Promise<void>): void },
  answer: (message: Received, response: ServerResponse) => void = (_, response) => response.end('ok'),
) {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer)
    } catch {
      // The sender was killed: what it sent is not a message.
      return
    }
    const message = {
      path: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    }
    received.push(message)
    answer(message, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
