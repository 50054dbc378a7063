import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

export interface RawUpstream {
  url: string
  /** Connections that asked for an answer and are closed. */
  closed: number
  /** What is written to the connection once a whole request for an answer has arrived. */
  answer(socket: Socket): unknown
  end(): Promise<void>
}

const list = JSON.stringify({ object: 'list', data: [{ id: 'far', object: 'model', owned_by: 'somebody' }] })
const listed = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${list.length}\r\n\r\n${list}`

/** A server that lists a model properly, and whose answers are raw bytes that no HTTP library would send. */
export async function startRawUpstream(
  t: { after(end: () => unknown): void },
  answer: RawUpstream['answer'] = () => {},
): Promise<RawUpstream> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    let isAsked = false
    let request = ''
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      if (isAsked) upstream.closed++
    })
    socket.on('data', (piece) => {
      request += piece.toString('latin1')
      for (;;) {
        const head = request.indexOf('\r\n\r\n')
        if (head === -1) return
        const length = Number(/content-length: (\d+)/i.exec(request.slice(0, head))?.[1] ?? 0)
        if (request.length < head + 4 + length) return
        const isList = request.startsWith('GET')
        request = request.slice(head + 4 + length)
        if (isList) socket.write(listed)
        else {
          isAsked = true
          upstream.answer(socket)
        }
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const upstream: RawUpstream = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    closed: 0,
    answer,
    async end() {
      if (!server.listening) return
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
  t.after(() => upstream.end())
  return upstream
}

/** The head of a stream that ends with its connection, or that has chunked encoding. */
export const streamHead = (isChunked = false) =>
  `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n${isChunked ? 'transfer-encoding: chunked' : 'connection: close'}\r\n\r\n`

/** One event of a stream. */
export const event = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`

export const chunked = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
