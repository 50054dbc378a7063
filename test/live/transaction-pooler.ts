import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface TransactionPooler {
  /** The same address, through the pooler. */
  url: string
  close(): Promise<void>
}

const terminate = 'X'
/** ReadyForQuery; its status is I outside a transaction. */
const ready = 'Z'
const idle = 'I'.charCodeAt(0)
const sslRequest = 80_877_103

interface Backend {
  socket: Socket
  /** What its answers go to; it is free if there is none. */
  client: Socket | undefined
  isPinned: boolean
}

/**
 * Gives each transaction the next free connection to the server, as PgBouncer does in transaction mode; `count` are
 * open. Every client logs in at a connection of its own, which then joins the others. One that `pins` leaves a connection to
 * the client that has set something there for its session, as the proxy of Amazon RDS does.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
export async function startTransactionPooler(
  target: string,
  count: number,
  { pins = false } = {},
): Promise<TransactionPooler> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const free: Backend[] = []
  const wanting: ((backend: Backend) => void)[] = []
  let opened = 0

  function released(backend: Backend): void {
    if (backend.isPinned) return
    backend.client = undefined
    const next = wanting.shift()
    if (next !== undefined) next(backend)
    else free.push(backend)
  }

  /** Passes answers on; after the login, a connection that has ended its transaction is free. */
  function follow(backend: Backend): void {
    const messages = splitting((type, message) => {
      backend.client?.write(message)
      if (type === ready && message[5] === idle) released(backend)
    })
    backend.socket.on('data', messages)
  }

  const server = createServer((client) => {
    watch(client)
    let backend: Backend | undefined
    let queue: Promise<void> = Promise.resolve()
    const backendOf = async (): Promise<Backend> => {
      if (backend?.client === client) return backend
      backend = free.shift() ?? (await new Promise<Backend>((resolve) => wanting.push(resolve)))
      backend.client = client
      return backend
    }
    const messages = splitting((type, message) => {
      if (type === terminate) return
      queue = queue.then(async () => {
        const backend = await backendOf()
        backend.isPinned ||= pins && message.includes('set_config(')
        backend.socket.write(message)
      })
    })
    client.once('data', (first) => {
      if (first.readInt32BE(4) === sslRequest) throw new Error('the pooler of tests has no TLS')
      const own: Backend = { socket: connect(Number(port), hostname), client, isPinned: false }
      backend = own
      watch(own.socket)
      follow(own)
      own.socket.write(first)
      client.on('data', messages)
      // As many as there may be: a login beyond them ends another connection that is free.
      if (opened++ >= count) free.shift()?.socket.destroy()
    })
  })
  function watch(socket: Socket): void {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const own = new URL(target)
  const address = server.address()
  own.port = String(typeof address === 'object' && address !== null ? address.port : '')
  return {
    url: own.href,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Cuts a stream into messages: a type, and a length that counts itself. */
function splitting(each: (type: string, message: Buffer) => void): (data: Buffer) => void {
  let left = Buffer.alloc(0)
  return (data) => {
    left = Buffer.concat([left, data])
    while (left.length >= 5 && left.length > left.readInt32BE(1)) {
      const size = 1 + left.readInt32BE(1)
      each(String.fromCharCode(left[0] as number), left.subarray(0, size))
      left = left.subarray(size)
    }
  }
}
