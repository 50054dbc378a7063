import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { openApp, type TestApp } from '../../support/app.ts'
import { newFolder } from '../../support/server.ts'

type Ending = { after(end: () => Promise<void>): void }

export const grants = ['staff=editor@acme', 'ops=admin']

/** A port that was free a moment ago: the address of a server is part of its settings here. */
export async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

export async function issuersFile(t: Ending, issuers: object[]): Promise<string> {
  const path = join(await newFolder(t), 'oidc.json')
  await writeFile(path, JSON.stringify({ issuers }))
  return path
}

/** Listens on a port of its own, and removes the path from what it passes on. */
async function startProxy(t: Ending, path: string, port: number): Promise<string> {
  const server = createServer((from, to) => {
    const { method, headers, url = '' } = from
    if (!url.startsWith(`${path}/`)) return void to.writeHead(404).end('not of this server')
    const passed = request(
      { host: '127.0.0.1', port, method, headers, path: url.slice(path.length) },
      (answer) => {
        to.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(to)
      },
    )
    passed.on('error', () => to.destroy())
    to.on('close', () => passed.destroy())
    from.pipe(passed)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`
}

/** The app on a port, with these issuers; with a path, people find it behind a proxy. */
export async function serveWithIssuers(
  t: Ending,
  issuers: object[],
  { path = '', settings = {} }: { path?: string; settings?: Record<string, string> } = {},
): Promise<TestApp & { address: string; publicUrl: string }> {
  const port = await freePort()
  const address = `http://127.0.0.1:${port}`
  const publicUrl = path === '' ? address : await startProxy(t, path, port)
  const served = await openApp(t, {
    settings: { HEDDLE_OIDC: await issuersFile(t, issuers), HEDDLE_PUBLIC_URL: publicUrl, ...settings },
  })
  await served.app.listen({ host: '127.0.0.1', port })
  return { ...served, address, publicUrl }
}
