import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

export interface FakeHub {
  endpoint: string
  /** The requests so far: method, path and range, one line each. */
  asked: string[]
  /** The tokens that the hub received, and those that the host of the bytes received. */
  tokens: { hub: (string | undefined)[]; store: (string | undefined)[] }
  sha256Of(path: string): string
}

export interface FakeHubOptions {
  /** The contents of the files, by repository and path. */
  repositories: Record<string, Record<string, Buffer>>
  /** Repositories that need this token. */
  token?: string
  /** The connection breaks after this many bytes of each answer. */
  breaksAfter?: number
  /** Ends every connection at once, from this many requests for bytes on. */
  silentFrom?: number
  /** Sends the bytes that begin this far after what was asked for. */
  misses?: number
  /** Sends whole files, whatever range was asked for. */
  ignoresRange?: boolean
  /** Sends other bytes than it announced. */
  damages?: boolean
  /** Reports no checksum. */
  sumless?: boolean
  /** Answers every request with this status. */
  status?: number
  /** Entries on one page of a listing. */
  page?: number
}

/** Implements the part of the hub's protocol that downloads use: listings in pages, redirects to another host, ranges. */
export async function startFakeHub(t: Pick<TestContext, 'after'>, options: FakeHubOptions): Promise<FakeHub> {
  const asked: string[] = []
  const tokens: FakeHub['tokens'] = { hub: [], store: [] }
  const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
  const contents = new Map<string, Buffer>()
  for (const [repository, files] of Object.entries(options.repositories)) {
    for (const [path, bytes] of Object.entries(files)) contents.set(`${repository}/${path}`, bytes)
  }
  let served = 0

  function list(repository: string, url: URL, response: ServerResponse): void {
    const files = Object.entries(options.repositories[repository] ?? {})
    const from = Number(url.searchParams.get('cursor') ?? 0)
    const until = from + (options.page ?? files.length)
    if (until < files.length) {
      url.searchParams.set('cursor', String(until))
      response.setHeader('link', `<${url.href}>; rel="next"`)
    }
    const entries = files.slice(from, until).map(([path, bytes]) => ({
      type: 'file',
      path,
      size: bytes.length,
      oid: 'x',
      ...(!options.sumless && { lfs: { oid: sha256(bytes), size: bytes.length, pointerSize: 1 } }),
    }))
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify([{ type: 'directory', path: 'folder', size: 0, oid: 'x' }, ...entries]))
  }

  function store(request: IncomingMessage, bytes: Buffer, response: ServerResponse): void {
    served++
    if (served >= (options.silentFrom ?? Number.POSITIVE_INFINITY)) return void request.socket.destroy()
    const [, given] = /^bytes=(\d+)-$/.exec(request.headers.range ?? '') ?? []
    const from = given === undefined || options.ignoresRange ? 0 : Number(given) + (options.misses ?? 0)
    if (from >= bytes.length) {
      response.writeHead(416, { 'content-range': `bytes */${bytes.length}` }).end()
      return
    }
    if (from > 0) response.setHeader('content-range', `bytes ${from}-${bytes.length - 1}/${bytes.length}`)
    const rest = Buffer.from(bytes.subarray(from))
    if (options.damages) rest.fill(0)
    response.writeHead(from > 0 ? 206 : 200, { 'content-length': rest.length, etag: '"another"' })
    if (options.breaksAfter !== undefined && rest.length > options.breaksAfter) {
      response.write(rest.subarray(0, options.breaksAfter), () => request.socket.destroy())
    } else response.end(rest)
  }

  const listen = async (answer: (request: IncomingMessage, response: ServerResponse) => void) => {
    const server = createServer(answer)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const storeAddress = await listen((request, response) => {
    tokens.store.push(request.headers.authorization)
    asked.push(`${request.method} bytes ${request.headers.range ?? 'all'}`)
    store(request, contents.get(decodeURIComponent(request.url ?? '').slice(1)) as Buffer, response)
  })
  const endpoint = await listen((request, response) => {
    const url = new URL(request.url ?? '', `http://${request.headers.host}`)
    const path = decodeURIComponent(url.pathname)
    tokens.hub.push(request.headers.authorization)
    asked.push(`${request.method} ${path}`)
    if (options.status !== undefined) return void response.writeHead(options.status).end('{}')
    const [, repository] = /^\/(?:api\/models\/)?([^/]+\/[^/]+)\//.exec(path) ?? []
    const isKnown = repository !== undefined && repository in options.repositories
    const mayPass = options.token === undefined || request.headers.authorization === `Bearer ${options.token}`
    if (!isKnown || !mayPass) return void response.writeHead(401).end('{"error":"Repository not found"}')
    if (path.startsWith('/api/')) return list(repository, url, response)
    const name = `${repository}/${path.split('/resolve/main/')[1]}`
    const bytes = contents.get(name)
    if (bytes === undefined) return void response.writeHead(404).end()
    response.writeHead(302, {
      location: `${storeAddress}/${encodeURIComponent(name)}`,
      etag: `"${'0'.repeat(40)}"`,
      ...(!options.sumless && { 'x-linked-etag': `"${sha256(bytes)}"` }),
    })
    response.end()
  })
  return {
    endpoint,
    asked,
    tokens,
    sha256Of: (path) => sha256(contents.get(path) as Buffer),
  }
}
