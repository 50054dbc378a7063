import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from '@prometheus-io/client'
import { send } from '../../src/operations/alerts/sending.ts'
import { createWebhooks } from '../../src/operations/alerts/webhooks.ts'
import { startReceiver } from './webhook-receiver.ts'

test('two names are looked up at a time, one of an entity, and a slow one does not count as ended', async (t) => {
  const receiver = await startReceiver(t)
  const { port } = new URL(receiver.url)
  const { lookups } = createWebhooks([], new Registry())
  const looked: string[] = []
  const ended = new Map<string, () => void>()
  const post = (entity: string, host: string, timeoutMs: number) =>
    send(
      { entity, url: `http://${host}.example:${port}/`, headers: {}, body: '{}' },
      {
        check: () => 'allowed',
        lookups,
        timeoutMs,
        lookup(name) {
          looked.push(name.split('.')[0] as string)
          const { promise, resolve } = Promise.withResolvers<{ address: string; family: number }[]>()
          ended.set(host, () => resolve([{ address: '127.0.0.1', family: 4 }]))
          return promise
        },
      },
      new AbortController().signal,
    )
  const late = { error: 'no answer within 0.05 s' }
  assert.deepEqual(await post('acme', 'acme1', 50), late)
  // The name of the first is still looked up.
  assert.deepEqual(await post('acme', 'acme2', 50), late)
  assert.deepEqual(looked, ['acme1'])
  assert.deepEqual(await post('globex', 'globex1', 50), late)
  assert.deepEqual(looked, ['acme1', 'globex1'])
  assert.deepEqual(await post('initech', 'initech1', 50), late)
  assert.deepEqual(looked, ['acme1', 'globex1'])
  const [own, other] = [post('acme', 'acme3', 600_000), post('initech', 'initech2', 600_000)]
  const isLooked = async (host: string) => {
    while (!ended.has(host)) await new Promise((resolve) => setImmediate(resolve))
    ended.get(host)?.()
  }
  await isLooked('globex1')
  await isLooked('initech2')
  assert.equal(((await other) as { status: number }).status, 200)
  assert.deepEqual(looked, ['acme1', 'globex1', 'initech2'])
  await isLooked('acme1')
  await isLooked('acme3')
  assert.equal(((await own) as { status: number }).status, 200)
  assert.equal(receiver.received.length, 2)
})
