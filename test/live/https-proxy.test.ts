import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

/** A proxy that connects nobody, and what it was asked for. */
async function refusingProxy(t: TestContext): Promise<{ address: string; asked: string[] }> {
  const asked: string[] = []
  const proxy = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    response.writeHead(403).end()
  })
  proxy.on('connect', ({ url }, socket) => {
    asked.push(`CONNECT ${url}`)
    // A client that has gone away meanwhile is no failure of the proxy.
    socket.on('error', () => socket.destroy())
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  t.after(() => proxy.close())
  return { address: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, asked }
}

test('an upstream with https is asked through HTTPS_PROXY', async (t) => {
  const { address, asked } = await refusingProxy(t)
  await startServer(t, { HTTPS_PROXY: address, HEDDLE_MODEL: 'https://upstream.invalid/v1' })
  await until('the proxy is asked', () => asked.includes('CONNECT upstream.invalid:443'))
})

test('a model of the hub is asked for through HTTPS_PROXY', async (t) => {
  const { address, asked } = await refusingProxy(t)
  const hub = { HF_ENDPOINT: 'https://hub.invalid', HEDDLE_MODEL: 'hf:some/model' }
  await startServer(t, { HTTPS_PROXY: address, ...hub })
  await until('the proxy is asked', () => asked.includes('CONNECT hub.invalid:443'))
})

test('NO_PROXY is asked directly', async (t) => {
  const { address, asked } = await refusingProxy(t)
  const server = await startServer(t, {
    HTTPS_PROXY: address,
    NO_PROXY: 'upstream.invalid',
    HEDDLE_MODEL: 'https://upstream.invalid/v1',
  })
  const chat = { model: 'any', messages: [{ role: 'user', content: 'Hi' }] }
  const { status } = await server.post('/v1/chat/completions', chat)
  assert.equal(status, 503)
  assert.deepEqual(asked, [])
})
