import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'
import Fastify from 'fastify'
import { disconnectStalledClients } from '../../src/http/streams/stalled-clients.ts'
import { basic, keys, openApp } from '../support/app.ts'
import { project, startOf } from '../support/calls.ts'
import { fileForm, formType } from '../support/forms.ts'
import { rawPost } from '../support/raw-client.ts'
import { withTimeout } from '../support/wait.ts'

/** More than the buffers of two sockets can contain. */
const long = 'x'.repeat(24 * 1024 * 1024)

async function openPort(t: TestContext) {
  const opened = await openApp(t, { streams: { stallTimeoutMs: 100 } })
  const address = await opened.app.listen({ port: 0, host: '127.0.0.1' })
  return { ...opened, address }
}

/** Sends a request, reads nothing of the answer, and returns whether the answer was completed. */
async function isTaken(
  t: TestContext,
  { app, address }: Awaited<ReturnType<typeof openPort>>,
  url: string,
  body: object,
) {
  const closed = new Promise<boolean>((resolve) => {
    app.server.once('request', (_, answer) => answer.once('close', () => resolve(answer.writableFinished)))
  })
  const reader = await rawPost(address, url, body)
  t.after(() => reader.socket.destroy())
  await reader.begun()
  return withTimeout('the answer ends while nobody reads it', closed)
}

describe('a client that does not read its answer is cut off', () => {
  test('of a file', async (t) => {
    const opened = await openPort(t)
    const stored = await opened.app.inject({
      method: 'POST',
      url: '/file/create',
      headers: { authorization: basic(keys.alice), 'content-type': formType },
      payload: fileForm(project, long),
    })
    assert.equal(stored.statusCode, 200, stored.body)
    const { digest } = stored.json()
    assert.equal(await isTaken(t, opened, '/file/content', { project_id: project, digest }), false)
  })

  test('of a call', async (t) => {
    const opened = await openPort(t)
    const start = startOf({ inputs: { long } })
    assert.equal((await opened.post('/call/start', { start })).status, 200)
    assert.equal(await isTaken(t, opened, '/call/read', { project_id: project, id: start.id }), false)
  })
})

test('a client is not cut off while the rest of its answer is not ready', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  disconnectStalledClients(app, 20)
  app.get('/', (_request, reply) => {
    async function* slowly() {
      yield 'one '
      for (let silences = 0; silences < 3; silences++) await once(reply.raw, 'timeout')
      yield 'two'
    }
    return reply.send(Readable.from(slowly()))
  })
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  assert.equal(await (await fetch(address)).text(), 'one two')
})
