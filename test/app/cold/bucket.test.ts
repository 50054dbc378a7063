import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { s3Store } from '../../../src/storage/cold/s3.ts'
import { openApp } from '../../support/app.ts'
import { openAppRecord } from '../../support/app-record.ts'
import { completeOf, project } from '../../support/calls.ts'
import { moveAll } from './cold-app.ts'
import { s3Keys, startFakeS3 } from './fake-s3.ts'

const settingsOf = (endpoint: string, bucket = 'cold') => ({
  ...{ cold_store: `s3://${bucket}/of/heddle/`, cold_endpoint: endpoint, cold_region: s3Keys.region },
  ...{ cold_key: s3Keys.id, cold_secret: s3Keys.secret },
})

test('a bucket: cold calls are written, read by range and removed, with signatures', async (t) => {
  const { endpoint, objects, requests } = await startFakeS3(t)
  const store = s3Store(settingsOf(endpoint))
  const database = await openAppRecord(store)
  const { post } = await openApp(t, { database })
  const id = randomUUID()
  const call = completeOf({ id, trace_id: id, inputs: { q: 'why '.repeat(200) }, output: 'so '.repeat(200) })
  assert.equal((await post('/v2/acme/qa/calls/complete', { batch: [call] })).status, 200)
  assert.equal(await moveAll(database, project), 1)
  const [owner = '', path = ''] = [...objects.keys()]
  assert.equal(owner, '/cold/of/heddle/heddle-owner')
  assert.match(path, /^\/cold\/of\/heddle\/[\da-f]{2}\/[\da-f-]{36}\.cold$/)
  const { json } = await post('/call/read', { project_id: project, id })
  assert.deepEqual([json.call.inputs, json.call.output], [call.inputs, call.output])
  assert.match(requests.at(-1) ?? '', /^GET bytes=0-\d+$/)
  const file = path.slice(-41, -5)
  const { signal } = new AbortController()
  assert.equal(await store.size(file, signal), objects.get(path)?.length)
  await store.remove(file)
  await store.remove(file)
  assert.deepEqual(
    [await store.size(file, signal), await store.read(file, 0, 9, signal)],
    [undefined, undefined],
  )
})

test('a bucket: a wrong key and a missing bucket are no missing file', async (t) => {
  const { endpoint } = await startFakeS3(t)
  const { signal } = new AbortController()
  const wrong = s3Store({ ...settingsOf(endpoint), cold_secret: 'another' })
  await assert.rejects(wrong.read(randomUUID(), 0, 9, signal), /403.*SignatureDoesNotMatch/)
  await assert.rejects(
    s3Store(settingsOf(endpoint, 'other')).read(randomUUID(), 0, 9, signal),
    /404.*NoSuchBucket/,
  )
})

test('a bucket: a redirect confirms nothing', async (t) => {
  const server = createServer((request, response) => {
    if (request.url === '/login') response.end('hello')
    else response.writeHead(303, { location: '/login' }).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const store = s3Store(settingsOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
  await assert.rejects(store.write(randomUUID(), Buffer.from('texts')))
  await assert.rejects(store.remove(randomUUID()))
})

test('a bucket: a read that may succeed later is tried once more, and no other', async (t) => {
  const { endpoint, requests, failures } = await startFakeS3(t)
  const store = s3Store(settingsOf(endpoint))
  const { signal } = new AbortController()
  const file = randomUUID()
  await store.write(file, Buffer.from('texts'))
  await store.writeOwner('me')
  const reads: [() => Promise<unknown>, unknown][] = [
    [async () => String(Buffer.from((await store.read(file, 0, 5, signal)) ?? [])), 'texts'],
    [() => store.size(file, signal), 5],
    [store.readOwner, 'me'],
  ]
  for (const [read, answer] of reads) {
    for (const [statuses, attempts] of [
      [[503], 2],
      [[429], 2],
      [[0], 2],
      [[500, 502], 2],
      [[0, 0], 2],
      [[403], 1],
    ] as const) {
      failures.push(...statuses)
      requests.length = 0
      if (attempts > statuses.length) assert.equal(await read(), answer)
      else await assert.rejects(read)
      assert.deepEqual([requests.length, failures], [attempts, []], String(statuses))
    }
  }
  failures.push(503)
  requests.length = 0
  await assert.rejects(store.write(file, Buffer.from('texts')), /503/)
  assert.equal(requests.length, 1)
})
