import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { basic } from '../support/app.ts'
import { endOf, project, startOf } from '../support/calls.ts'
import { runCommand } from '../support/commands.ts'
import { canMeasureMemory, memoryOf } from '../support/process-memory.ts'
import { newFolder, type RunningServer, runHeddle, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const keyShape = /hdl_[\w-]{43}/g

function keysIn(lines: readonly string[]): string[] {
  return lines.join('\n').match(keyShape) ?? []
}

async function statusWith(server: RunningServer, authorization: string): Promise<number> {
  const answer = await fetch(`${server.address}/calls/query_stats`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ project_id: project }),
  })
  await answer.text()
  return answer.status
}

describe('the first start in an empty folder', () => {
  test('creates a user and shows its key once', async (t) => {
    const settings = { HEDDLE_DATA: await newFolder(t), HEDDLE_USERS: '' }
    const server = await startServer(t, settings)
    const shown = keysIn(server.complaints)
    assert.equal(shown.length, 1)
    const key = shown[0] as string
    for (const authorization of [basic(key), basic(key, 'admin'), `Bearer ${key}`]) {
      assert.equal(await statusWith(server, authorization), 200)
    }
    for (const authorization of [basic(key, 'someone'), `Bearer ${key}x`, basic('')]) {
      assert.equal(await statusWith(server, authorization), 401)
    }
    assert.equal((await server.get('/metrics', key)).status, 200, 'the first user is an admin')
    assert.equal(await server.end('SIGTERM'), 0)

    const again = await startServer(t, settings)
    assert.deepEqual(keysIn(again.complaints), [])
    assert.equal(await statusWith(again, basic(key)), 200)
    assert.deepEqual(keysIn([...server.log, ...again.log]), [], 'the log never shows the key')
    assert.equal(await again.end('SIGTERM'), 0)
  })

  test('creates no user when the settings name users', async (t) => {
    const folder = await newFolder(t)
    const server = await startServer(t, { HEDDLE_DATA: folder })
    assert.deepEqual(keysIn(server.complaints), [])
    assert.equal(await server.end('SIGTERM'), 0)
    const { out } = await runCommand(['user', 'list'], { HEDDLE_DATA: folder })
    assert.equal(out, '')
  })

  test('creates one user when two servers start together', async (t) => {
    const settings = { HEDDLE_DATA: await newFolder(t), HEDDLE_USERS: '' }
    const servers = await Promise.all([startServer(t, settings), startServer(t, settings)])
    const shown = keysIn(servers.flatMap((server) => server.complaints))
    assert.equal(shown.length, 1)
    for (const server of servers) assert.equal(await statusWith(server, basic(shown[0] as string)), 200)
    for (const server of servers) assert.equal(await server.end('SIGTERM'), 0)
  })
})

test('two servers on one folder can both write, and each reads what the other wrote', async (t) => {
  const settings = { HEDDLE_DATA: await newFolder(t) }
  const [one, other] = await Promise.all([startServer(t, settings), startServer(t, settings)])
  const write = async (server: RunningServer, reader: RunningServer) => {
    for (let i = 0; i < 25; i++) {
      const id = randomUUID()
      assert.equal((await server.post('/call/start', { start: startOf({ id }) })).status, 200)
      assert.equal((await reader.post('/call/end', { end: endOf(id, { output: i }) })).status, 200)
      const answer = await server.post('/call/read', { project_id: project, id })
      const { call } = (await answer.json()) as { call: { output: unknown } }
      assert.equal(call.output, i)
    }
  }
  await Promise.all([0, 1, 2, 3].flatMap(() => [write(one, other), write(other, one)]))
  for (const server of [one, other]) {
    const stats = await server.post('/calls/query_stats', { project_id: project })
    assert.equal(((await stats.json()) as { count: number }).count, 200)
  }
  assert.equal(await one.end('SIGTERM'), 0)
  assert.equal((await other.post('/call/start', { start: startOf() })).status, 200)
  assert.equal(await other.end('SIGTERM'), 0)
})

describe('settings', () => {
  async function freePort(): Promise<number> {
    const probe = createServer()
    await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
    const address = probe.address()
    await new Promise((resolve) => probe.close(resolve))
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  test('PORT and HOST work without the prefix, and prefixed names take precedence', async (t) => {
    const [port, other] = [String(await freePort()), String(await freePort())]
    const plain = { HEDDLE_DATA: await newFolder(t), HEDDLE_PORT: '', HOST: '127.0.0.1', PORT: port }
    const server = await startServer(t, plain)
    assert.equal(server.address, `http://127.0.0.1:${port}`)
    assert.equal(await server.end('SIGTERM'), 0)

    // An address for documentation only (RFC 5737): the server would not start there.
    const prefixed = { HEDDLE_HOST: '127.0.0.1', HEDDLE_PORT: other, HOST: '203.0.113.1' }
    const second = await startServer(t, { ...plain, ...prefixed })
    assert.equal(second.address, `http://127.0.0.1:${other}`)
    assert.equal(await second.end('SIGTERM'), 0)
    const empty = await newFolder(t)
    for (const [settings, says] of [
      [{ HOST: '203.0.113.1' }, /^HOST: given 203\.0\.113\.1, which is not an address of this machine .*\n$/],
      [{ HEDDLE_HOST: 'nowhere.invalid' }, /^HEDDLE_HOST: given nowhere\.invalid, a name that has no .*\n$/],
    ] as const) {
      const { code, err } = await runHeddle([], {
        ...plain,
        HEDDLE_DATA: empty,
        HEDDLE_USERS: '',
        ...settings,
      })
      assert.deepEqual([code, readdirSync(empty)], [1, []])
      assert.match(err, says)
    }
  })

  test('a port in use ends the start with one line', async (t) => {
    const server = await startServer(t, { HEDDLE_DATA: await newFolder(t) })
    const folder = await newFolder(t)
    const settings = { HEDDLE_DATA: join(folder, 'data'), HEDDLE_PORT: new URL(server.address).port }
    const { code, err } = await runHeddle(['serve'], {
      ...settings,
      HEDDLE_USERS: 'a:a-key-that-is-long-enough',
    })
    assert.equal(code, 1)
    assert.match(err, /^HEDDLE_PORT: given \d+, but another program listens on it .*EADDRINUSE.*\n$/)
    assert.equal(err.includes(`For instance: HEDDLE_PORT=${Number(settings.HEDDLE_PORT) + 1} `), true, err)
    assert.deepEqual(readdirSync(folder), [], 'nothing is created')
    assert.equal(await server.end('SIGTERM'), 0)
  })

  const wrong: Record<string, [settings: Record<string, string>, says: RegExp]> = {
    'one that does not exist': [
      { HEDDLE_PROT: '8080' },
      /^HEDDLE_PROT: there is no such setting; did you mean HEDDLE_PORT\?\n$/,
    ],
    'a port beyond the last': [{ HEDDLE_PORT: '65536' }, /^HEDDLE_PORT: expected 0 to 65535.*\n$/],
    'a port that is not a number': [
      { HEDDLE_PORT: '', PORT: 'http' },
      /^PORT: expected a whole number.*"http"\n$/,
    ],
    'a level that the log does not have': [{ HEDDLE_LOG_LEVEL: 'loud' }, /^HEDDLE_LOG_LEVEL: .*\n$/],
    'two at once': [{ HEDDLE_GRACE: '-1', HEDDLE_DOCS: 'maybe' }, /^HEDDLE_GRACE: .*\nHEDDLE_DOCS: .*\n$/],
    'users without keys': [{ HEDDLE_USERS: 'ann' }, /^HEDDLE_USERS: entry 1: expected name:key.*\n$/],
    'users with a key that could be guessed': [
      { HEDDLE_USERS: 'ann:nineteen-secret-ann' },
      /^HEDDLE_USERS: entry 1: the key of ann has 19 characters and could be guessed; expected at least 20, .*\n$/,
    ],
    'users with a key too many': [
      { HEDDLE_USERS: 'ann:the-long-secret-of-ann,bob:the-long-secret-of-bob:acme:secret-more' },
      /^HEDDLE_USERS: entry 2: expected name:key.*\n$/,
    ],
    'a database of another kind': [
      { HEDDLE_DATABASE_URL: 'mysql://heddle:secret-password@db/heddle' },
      /^HEDDLE_DATABASE_URL: expected postgres:\/\/…\n$/,
    ],
  }
  for (const [what, [settings, says]] of Object.entries(wrong)) {
    test(`${what}: the start exits with 2 and a line that names the setting`, async (t) => {
      const { code, out, err } = await runCommand(['serve'], { HEDDLE_DATA: await newFolder(t), ...settings })
      assert.equal(code, 2)
      assert.match(err, says)
      assert.doesNotMatch(err, /secret/)
      assert.equal(out, '')
    })
  }
})

test('P8: an idle server without a model uses less than 150 MB', async (t) => {
  if (!canMeasureMemory) return t.skip('there is no /proc to measure memory with')
  const settings = { HEDDLE_DATA: await newFolder(t) }
  // Code compiled at the very first start is cached for later ones.
  assert.equal(await (await startServer(t, settings)).end('SIGTERM'), 0)
  const server = await startServer(t, settings)
  for (let i = 0; i < 50; i++) {
    const start = startOf()
    assert.equal((await server.post('/call/start', { start })).status, 200)
    assert.equal((await server.post('/call/end', { end: endOf(start.id) })).status, 200)
    assert.equal((await server.post('/call/read', { project_id: project, id: start.id })).status, 200)
    const found = await server.post('/calls/stream_query', { project_id: project, limit: 10 })
    assert.equal(found.status, 200)
    await found.text()
  }
  // The server is idle once the work for the writes ends: the thread that empties SQLite's log waits ten seconds first.
  const now = () => memoryOf(server.process.pid as number).now
  await until('an idle server holds less than 150 MB', () => now() < 150)
  t.diagnostic(`${now().toFixed(0)} MB`)
  assert.equal(await server.end('SIGTERM'), 0)
})

/** The APIs for models besides chat completions. */
const wires =
  /^operations\/(?:batches|completions|conversations|decisions|embeddings|infill|messages|ollama|rerank|responses|tokens|wire-files)\//

test('P8: the code of an API is loaded with the first request for it, and costs the others nothing', async (t) => {
  const list = join(await newFolder(t), 'modules')
  const server = await startServer(t, {
    HEDDLE_DATA: await newFolder(t),
    LOADED_MODULES: list,
    NODE_OPTIONS: `--import ${new URL('../support/loaded-modules.mjs', import.meta.url)}`,
  })
  const loaded = async () => [...new Set((await readFile(list, 'utf8')).split('\n'))].filter(isOfWire)
  const isOfWire = (file: string) => wires.test(file)
  const ask = async (path: string) => {
    const answer = await server.post(path, {
      model: 'any',
      messages: [{ role: 'user', content: 'Hi' }],
      max_tokens: 1,
    })
    await answer.text()
  }
  await ask('/v1/chat/completions')
  assert.deepEqual((await loaded()).toSorted(), [
    // What a server that stopped had not finished goes on.
    'operations/batches/carrying.ts',
    'operations/responses/background/carrying.ts',
    // Forms have a parser of their own.
    'operations/wire-files/contract.ts',
    'operations/wire-files/files.ts',
    'operations/wire-files/routes.ts',
  ])
  const before = canMeasureMemory ? memoryOf(server.process.pid as number).now : Number.NaN
  for (const path of [
    '/api/chat',
    '/v1/messages',
    '/v1/completions',
    '/v1/rerank',
    '/infill',
    '/v1/responses',
  ])
    await ask(path)
  const files = await loaded()
  for (const name of ['ollama', 'messages', 'completions', 'rerank', 'infill', 'responses'])
    assert.ok(files.includes(`operations/${name}/routes.ts`), name)
  if (canMeasureMemory) {
    const after = memoryOf(server.process.pid as number).now
    t.diagnostic(`${before.toFixed(0)} MB with one API in use, ${after.toFixed(0)} MB with seven`)
  }
  assert.equal(await server.end('SIGTERM'), 0)
})

test('a Kubernetes service with the name of the server does not prevent its start', async (t) => {
  const server = await startServer(t, {
    HEDDLE_DATA: await newFolder(t),
    HEDDLE_PORT: 'tcp://10.0.0.1:8080',
    HEDDLE_SERVICE_HOST: '10.0.0.1',
    PORT: '0',
  })
  assert.equal((await server.get('/health')).status, 200)
  const said = server.log.filter((line) => line.includes('Kubernetes'))
  assert.deepEqual(
    said.map((line) => JSON.parse(line).ignored.sort()),
    [['HEDDLE_PORT', 'HEDDLE_SERVICE_HOST']],
  )
  assert.equal(await server.end('SIGTERM'), 0)
})
