import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { basic, keys, openApp } from '../support/app.ts'
import { completeOf, project, startOf } from '../support/calls.ts'
import { allDrivers } from '../support/drivers.ts'
import { fileForm, formType } from '../support/forms.ts'
import { until, withTimeout } from '../support/wait.ts'
import { checkedBackend } from './campaign/checked-backend.ts'
import { campaign } from './campaign/length.ts'

const driver = allDrivers().find(({ name }) => name === 'SQLite file')
if (driver === undefined) throw new Error('there is no SQLite')
await driver.start()
const database = await driver.open({ after: (close) => after(close as () => void) })

const budget = 8 * 1024 * 1024
const settings = { HEDDLE_BODY_BUDGET: String(budget), HEDDLE_HEADERS_TIMEOUT: '30000' }
const { app, post, get } = await openApp({ after }, { database, settings, backend: checkedBackend() })
const port = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port)

const megabyte = 'x'.repeat(1024 * 1024)
const batch = Array.from({ length: 30 }, () => completeOf({ inputs: { text: megabyte } }))
for (const call of batch)
  assert.equal((await post('/v2/acme/qa/calls/complete', { batch: [call] })).status, 200)

const json = (path: string, body: unknown) => ({
  path,
  type: 'application/json',
  body: Buffer.from(JSON.stringify(body)),
})
/** Short and long bodies, short and long answers, and slow answers. */
const sent = [
  json('/call/read', { project_id: project, id: batch[0]?.id }),
  json('/calls/stream_query', { project_id: project }),
  json('/calls/stream_query', { project_id: project, columns: ['id'] }),
  json('/call/start', { start: startOf({ inputs: { text: 'x'.repeat(300_000) } }) }),
  json('/v2/acme/qa/calls/complete', { batch: [completeOf({ inputs: { text: megabyte } })] }),
  json('/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }], stream: true, n: 4 }),
  json('/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }),
  json('/feedback/query', { project_id: 'globex/qa' }),
  json('/nowhere', {}),
  { path: '/file/create', type: formType, body: fileForm(project, megabyte) },
]

interface Client {
  what: number
  isChunked: boolean
  /** How much is sent before the client disconnects, as a share of head and body; above 1 more requests follow. */
  share: number
  pace: 'at once' | 'in pieces'
  ending: 'leaves' | 'ends' | 'resets' | 'reads some' | 'reads all' | 'reads nothing'
}

const client: fc.Arbitrary<Client> = fc.record({
  what: fc.nat(sent.length - 1),
  isChunked: fc.boolean(),
  share: fc.oneof(fc.constantFrom(0, 1, 2), fc.double({ min: 0, max: 1, noNaN: true })),
  pace: fc.constantFrom('at once', 'in pieces'),
  ending: fc.constantFrom('leaves', 'ends', 'resets', 'reads some', 'reads all', 'reads nothing'),
})

function requestOf({ what, isChunked }: Client): Buffer {
  const { path, type, body } = sent[what] as (typeof sent)[number]
  const length = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`
  const lines = [
    `POST ${path} HTTP/1.1`,
    'Host: heddle',
    `Authorization: ${basic(keys.alice)}`,
    `Content-Type: ${type}`,
  ]
  const head = Buffer.from([...lines, length, '', ''].join('\r\n'))
  if (!isChunked) return Buffer.concat([head, body])
  return Buffer.concat([
    head,
    Buffer.from(`${body.length.toString(16)}\r\n`),
    body,
    Buffer.from('\r\n0\r\n\r\n'),
  ])
}

/** Also resolves if the server closes first; then further writes fail. */
const closed = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve))

/** Sends and reads as the client describes, then disconnects. */
async function visit(one: Client): Promise<void> {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  const gone = closed(socket)
  const request = requestOf(one)
  const bytes =
    one.share > 1
      ? Buffer.concat([request, request, request])
      : request.subarray(0, one.share * request.length)
  await sendAt(socket, bytes, one.pace)
  if (one.ending === 'resets') socket.resetAndDestroy()
  else if (one.ending === 'ends') socket.end().resume()
  else if (one.ending === 'reads some') await readSome(socket)
  else if (one.ending === 'reads all') socket.resume()
  if (one.ending === 'reads nothing' || one.ending === 'reads all') await sleep(20)
  if (one.ending !== 'ends') socket.destroy()
  else setTimeout(() => socket.destroy(), 200).unref()
  await gone
}

async function sendAt(socket: Socket, bytes: Buffer, pace: Client['pace']): Promise<void> {
  const pieces = pace === 'at once' ? 1 : 5
  for (let piece = 0; piece < pieces && !socket.destroyed; piece++) {
    const [from, to] = [piece, piece + 1].map((n) => Math.floor((bytes.length * n) / pieces))
    socket.write(bytes.subarray(from, to))
    if (pieces > 1) await sleep(2)
  }
}

async function readSome(socket: Socket): Promise<void> {
  const some = new Promise((resolve) => socket.once('readable', resolve))
  await Promise.race([some, closed(socket), sleep(50)])
  socket.read(1)
}

async function figure(name: string): Promise<number> {
  const { text } = await get('/metrics', keys.root)
  const value = new RegExp(`^${name}(?:\\{model_name="[^"]*"\\})? (\\d+)$`, 'm').exec(text)?.[1]
  assert.ok(value !== undefined, `the metrics include ${name}`)
  return Number(value)
}

/** No client is connected, so nothing may still be in use. */
async function assertNothingIsHeld(): Promise<void> {
  const connections = () =>
    new Promise<number>((resolve) => app.server.getConnections((_, count) => resolve(count)))
  await until('all connections are closed', async () => (await connections()) === 0)
  await until(
    'no request is in work but this',
    async () => (await figure('heddle_http_requests_running')) === 1,
  )
  await until('no answer is made', async () => (await figure('heddle_num_requests_running')) === 0)
  // More queries at once than there are readers, and bodies of all the size that one tenant may use at once.
  const queries = Array.from({ length: 6 }, () =>
    post('/calls/stream_query', { project_id: project, columns: ['id'] }),
  )
  for (const { status } of await withTimeout('readers', Promise.all(queries))) assert.equal(status, 200)
  const text = 'x'.repeat(budget / 8)
  const writes = Array.from({ length: 4 }, () =>
    post('/call/start', { start: startOf({ inputs: { text } }) }),
  )
  for (const answer of await withTimeout('writes', Promise.all(writes)))
    assert.equal(answer.status, 200, answer.text)
  assert.equal((await get('/ready')).status, 200)
}

test(`clients leave nothing behind, however they disconnect (seed ${campaign.seed})`, async () => {
  const crowd = 20
  const property = fc.asyncProperty(
    fc.array(client, { minLength: 1, maxLength: crowd, size: 'max' }),
    async (all) => {
      await withTimeout('all have left', Promise.all(all.map(visit)))
      await assertNothingIsHeld()
    },
  )
  await fc.assert(property, { seed: campaign.seed, numRuns: Math.ceil(campaign.clients / (crowd / 2)) })
})
