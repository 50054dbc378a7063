import { connect, createServer, type Socket } from 'node:net'

export interface TcpProxy {
  /** The same address, through the proxy. */
  url: string
  /** From now on nothing passes, in either direction, and nothing ends: a network that has failed. */
  silence(): void
  /** Ends a connection when a client sends this text, before or after it is passed on. */
  cutAt(text: string, when: 'before' | 'after'): void
  /** Lets everything pass again, on new connections. */
  heal(): void
  close(): Promise<void>
}

/** Stands between a client and a server and fails as networks do. */
export async function startTcpProxy(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let silent = false
  let cut: { text: string; when: 'before' | 'after' } | undefined

  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      // Either end may disconnect at any time; the other one is then closed too.
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        if (!silent) for (const other of [client, upstream]) other.destroy()
      })
    }
    client.on('data', (data) => {
      if (silent) return
      const hit = cut !== undefined && data.includes(cut.text)
      if (hit && cut?.when === 'before') return client.destroy()
      upstream.write(data)
      // The server has received the request and processes it; its answer reaches nobody.
      if (hit) client.destroySoon()
    })
    upstream.on('data', (data) => {
      if (!silent && client.writable) client.write(data)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const own = new URL(target)
  own.port = String(typeof address === 'object' && address !== null ? address.port : '')

  return {
    url: own.href,
    silence() {
      silent = true
    },
    cutAt(text, when) {
      cut = { text, when }
    },
    heal() {
      silent = false
      cut = undefined
    },
    close() {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
