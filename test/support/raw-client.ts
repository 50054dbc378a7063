import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { basic, keys } from './app.ts'

/** Requests written by hand, for clients that stop midway, do not read, or disconnect. */
export interface RawRequest {
  socket: Socket
  /** Sends what was held back. */
  sendRest(): void
  /** Resolves with the answer when its connection has ended. */
  answer(): Promise<string>
  /** Resolves when the first bytes of the answer have arrived; they and all others stay unread. */
  begun(): Promise<void>
}

/** A POST as alice; the last bytes of its body may be held back. Unless stated otherwise its connection is kept open. */
export async function rawPost(
  address: string,
  path: string,
  body: unknown,
  { heldBack = 0, keep = true }: { heldBack?: number; keep?: boolean } = {},
): Promise<RawRequest> {
  const { hostname, port } = new URL(address)
  const text = Buffer.from(JSON.stringify(body))
  const socket = connect(Number(port), hostname)
  // A client that is cut off may end with an error or without; the tests look at what arrived.
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: ${hostname}:${port}`,
    `Authorization: ${basic(keys.alice)}`,
    'Content-Type: application/json',
    `Content-Length: ${text.length}`,
    ...(keep ? [] : ['Connection: close']),
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  socket.write(text.subarray(0, text.length - heldBack))
  return {
    socket,
    sendRest: () => socket.write(text.subarray(text.length - heldBack)),
    async answer() {
      let answer = ''
      socket.setEncoding('utf8').on('data', (data) => {
        answer += data
      })
      // Also works if the server resets the connection: `once` of node:events would reject.
      if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
      return answer
    },
    async begun() {
      if (socket.readableLength === 0) await once(socket, 'readable')
    },
  }
}

/** Whether new connections are accepted there. */
export async function takesConnections(address: string): Promise<boolean> {
  const { hostname, port } = new URL(address)
  const socket = connect(Number(port), hostname)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
