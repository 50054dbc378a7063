import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestScope } from '../support/server.ts'

interface Manifest {
  name: string
  version: string
}

/** A registry with one package, as if it had been published; it redirects to another registry for all others. */
export async function startRegistry(
  t: TestScope,
  { manifest, tarball, others }: { manifest: Manifest; tarball: Buffer; others: string },
): Promise<string> {
  const server = createServer((request, response) => {
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const file = `/${manifest.name}/-/${manifest.name}-${manifest.version}.tgz`
    if (request.url === file) return response.end(tarball)
    if (request.url !== `/${manifest.name}`) {
      response.writeHead(302, { location: new URL(`.${request.url}`, others).href })
      return response.end()
    }
    const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
    const dist = { tarball: `${address}${file}`, integrity }
    const version = { ...manifest, dist }
    response.setHeader('content-type', 'application/json')
    return response.end(
      JSON.stringify({
        name: manifest.name,
        'dist-tags': { latest: manifest.version },
        versions: { [manifest.version]: version },
      }),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}
