import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { pino } from 'pino'
import type { Backend } from '../../packages/engine/index.ts'
import { refuse } from '../../src/domain/refusals.ts'
import { keys, openApp, type TestParts } from '../support/app.ts'
import { startOf } from '../support/calls.ts'
import { openMemoryRecord } from '../support/memory-record.ts'

interface Line {
  level: number
  msg: string
  user?: string
  reqId?: string
  code?: string
  cause?: string
  err?: { stack: string }
  req?: { method: string; url: string }
  res?: { statusCode: number }
  responseTime?: number
}

const [debug, info, warn, error] = [20, 30, 40, 50]

/** The app, and the lines that it logs. */
async function logged(t: Parameters<typeof openApp>[0], parts: TestParts = {}, level = 'info') {
  const lines: Line[] = []
  const stream = new Writable({
    write(text, _encoding, done) {
      lines.push(JSON.parse(String(text)) as Line)
      done()
    },
  })
  const opened = await openApp(t, { ...parts, logger: pino({ level }, stream) })
  return { ...opened, lines }
}

const completed = (lines: Line[]) => lines.filter(({ msg }) => msg === 'request completed')

test('each request is one line with its user, its status and its duration', async (t) => {
  const { app, post, lines } = await logged(t)
  assert.equal((await post('/call/start', { start: startOf() })).status, 200)
  assert.equal((await post('/call/start', {})).status, 422)
  await app.inject('/server_info')
  const shown = lines.map(({ level, msg, user, req, res }) => [
    level,
    msg,
    user,
    req?.method,
    req?.url,
    res?.statusCode,
  ])
  assert.deepEqual(shown, [
    [info, 'request completed', 'alice', 'POST', '/call/start', 200],
    [info, 'request completed', 'alice', 'POST', '/call/start', 422],
    [info, 'request completed', undefined, 'GET', '/server_info', 401],
  ])
  for (const { responseTime } of lines) assert.equal(typeof responseTime, 'number')
})

test('every line after the check of credentials has the user', async (t) => {
  const { post, lines } = await logged(t, {}, 'trace')
  await post('/call/start', { start: startOf() })
  await post('/call/start', '{')
  await post('/v1/chat/completions', { messages: [] }, keys.bob)
  const inRequests = lines.filter(({ reqId }) => reqId !== undefined)
  const named = inRequests.filter(({ msg }) => msg !== 'incoming request')
  assert.ok(named.length >= 5)
  assert.deepEqual(
    named.map(({ user }) => user === 'alice' || user === 'bob'),
    named.map(() => true),
  )
})

test('probes are logged at debug', async (t) => {
  const { app, get, lines } = await logged(t, {}, 'debug')
  for (const url of ['/health', '/ready']) await app.inject(url)
  await get('/metrics', keys.root)
  assert.deepEqual(
    completed(lines).map(({ level }) => level),
    [debug, debug, debug],
  )
})

test('a failing record is logged when its state changes, not at each probe', async (t) => {
  let time = performance.now()
  t.mock.method(performance, 'now', () => time)
  const database = openMemoryRecord()
  let failing = false
  const probe = () => (failing ? Promise.reject(refuse('storage_full')) : database.probe())
  const { app, lines } = await logged(t, { database: { ...database, probe } })
  for (const state of [false, true, true, true, false, false]) {
    failing = state
    time += 1001
    assert.equal((await app.inject('/ready')).statusCode, state ? 503 : 200)
  }
  assert.deepEqual(
    lines.map(({ level, msg }) => [level, msg]),
    [
      [warn, 'The disk of the record is full: nothing of this request was stored.'],
      [info, 'the record is ready again'],
    ],
  )
})

test('each request that needs a model that is not ready is one line without a stack', async (t) => {
  const backend = {
    status: () => ({ state: 'starting', doing: 'loading the model, 40 %' }),
    model: () => undefined,
    close: async () => {},
  } as unknown as Backend
  const { post, lines } = await logged(t, { backend })
  assert.equal(
    (await post('/v1/chat/completions', { messages: [{ role: 'user', content: 'x' }] })).status,
    503,
  )
  const [line, ...rest] = lines
  assert.deepEqual(
    [line?.level, line?.msg, line?.code, line?.user, line?.err],
    [warn, 'The model is not ready: loading the model, 40 %.', 'model_not_ready', 'alice', undefined],
  )
  assert.deepEqual([rest.length, completed(rest).length], [1, 1])
})

test('a failing store is logged as one line with the cause, and an error of the server with its stack', async (t) => {
  const database = openMemoryRecord()
  const full = refuse('storage_full')
  full.cause = new Error('SQLITE_FULL: database or disk is full')
  let reason: unknown = full
  const { post, lines } = await logged(t, { database: { ...database, write: () => Promise.reject(reason) } })
  assert.equal((await post('/call/start', { start: startOf() })).status, 503)
  reason = new TypeError('a fault')
  assert.equal((await post('/call/start', { start: startOf() })).status, 500)
  const [failed, fault] = lines.filter(({ msg }) => msg !== 'request completed')
  assert.deepEqual(
    [failed?.level, failed?.code, failed?.cause, failed?.err],
    [error, 'storage_full', 'SQLITE_FULL: database or disk is full', undefined],
  )
  assert.equal(fault?.level, error)
  assert.match(String(fault?.err?.stack), /a fault\n\s+at /)
})
