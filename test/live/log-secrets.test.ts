import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { basic, keys } from '../support/app.ts'
import { endOf, project, startOf } from '../support/calls.ts'
import { runCommand } from '../support/commands.ts'
import { fileForm, formType } from '../support/forms.ts'
import { exportOf, spanOf } from '../support/otlp.ts'
import { newFolder, type RunningServer, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const json = 'application/json'

/** A request for each way of reading a body and each step at which one can fail. */
const requests: Record<string, [method: string, url: string, type: string, body: string | Buffer]> = {
  'a call': ['POST', '/call/start', json, JSON.stringify({ start: startOf() })],
  'a call that does not fit': ['POST', '/call/start', json, '{"start":{}}'],
  'no JSON': ['POST', '/call/start', json, '{"cut'],
  'another type': ['POST', '/call/end', 'text/plain', JSON.stringify({ end: endOf('1') })],
  'a body that is too large': ['POST', '/call/read', json, `"${'x'.repeat(5_000_000)}"`],
  'an entity of others': ['POST', '/calls/query_stats', json, '{"project_id":"other/qa"}'],
  'a file': ['POST', '/file/create', formType, fileForm(project, 'bytes')],
  'a file that is too large': ['POST', '/file/create', formType, fileForm(project, 'x'.repeat(5000))],
  'half a form': ['POST', '/file/create', formType, fileForm(project, 'bytes').subarray(0, 80)],
  'no form': ['POST', '/files/create', formType, 'bytes'],
  spans: ['POST', '/otel/v1/traces', json, JSON.stringify(exportOf([spanOf()]))],
  'spans that are none': ['POST', '/otel/v1/traces', 'application/x-protobuf', 'no protobuf'],
  'a chat': ['POST', '/v1/chat/completions', json, '{"messages":[{"role":"user","content":"Hi"}]}'],
  'no chat': ['POST', '/v1/chat/completions', json, '{"messages":3}'],
  'a message': ['POST', '/v1/messages', json, '{"max_tokens":1,"messages":[{"role":"user","content":"Hi"}]}'],
  'no route': ['POST', '/nowhere', json, '{}'],
  'another method': ['DELETE', '/call/start', json, '{}'],
  metrics: ['GET', '/metrics', json, ''],
}

const credentials = (key: string): Record<string, string>[] => [
  ...[basic(key), basic(key, 'alice'), basic('no key', key), `Bearer ${key}`, `bearer ${key}`, key].map(
    (authorization) => ({ authorization }),
  ),
  { authorization: `Digest ${key}` },
  { 'wandb-api-key': key },
  { 'x-api-key': key },
  { 'proxy-authorization': `Bearer ${key}`, authorization: `Bearer ${key}` },
  { cookie: `session=${key}`, authorization: `Basic !${key}` },
]

/** The forms of a key in the log, also when it is part of an encoded text. */
function formsOf(key: string): string[] {
  const inBase64 = [0, 1, 2].map((shift) =>
    Buffer.from(' '.repeat(shift) + key)
      .toString('base64')
      .replace(/=+$/, '')
      .slice(shift === 0 ? 0 : 4, -1),
  )
  return [key, ...inBase64, Buffer.from(key).toString('hex'), [...Buffer.from(key)].join(',')]
}

async function send(server: RunningServer, headers: Record<string, string>): Promise<void> {
  for (const [what, [method, url, type, body]] of Object.entries(requests)) {
    const answer = await fetch(`${server.address}${url}`, {
      method,
      headers: { ...headers, 'content-type': type },
      ...(method !== 'GET' && { body: typeof body === 'string' ? body : new Uint8Array(body) }),
    })
    await answer.text()
    assert.ok(answer.status < 500 || answer.status === 503, `${what}: ${answer.status}`)
  }
}

/** Sends invalid and incomplete requests. */
async function sendBroken(server: RunningServer, headers: Record<string, string>): Promise<void> {
  const { hostname, port } = new URL(server.address)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const post = ['POST /file/create HTTP/1.1', 'Host: heddle', ...lines, `Content-Type: ${formType}`]
  for (const text of [
    [...post, 'Content-Length: -1', '', ''].join('\r\n'),
    [...post, 'a\rb: c', '', ''].join('\r\n'),
    [...post, 'Transfer-Encoding: chunked', '', 'no length\r\n'].join('\r\n'),
    ['GET /nowhere HTTP/9.9', ...lines, '', ''].join('\r\n'),
    [...post, 'Content-Length: 1000', '', `--${formType.split('boundary=')[1]}\r\n`].join('\r\n'),
  ]) {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    socket.end(text)
    socket.resume()
    // Works even if the server resets the connection: `once` of node:events would reject.
    if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
  }
}

test('no log line shows a credential, for any request and log level', async (t) => {
  const HEDDLE_DATA = await newFolder(t)
  const { out } = await runCommand(['user', 'add', 'carol', '--entities', 'acme', '--new'], { HEDDLE_DATA })
  const made = out.trim()
  const wrong = 'wrong-but-still-secret'
  const server = await startServer(t, {
    HEDDLE_DATA,
    HEDDLE_LOG_LEVEL: 'trace',
    HEDDLE_FILE_LIMIT: '1024',
    HEDDLE_WRONG_KEYS: '0',
  })
  for (const key of [keys.alice, made, wrong]) {
    for (const headers of credentials(key)) {
      await send(server, headers)
      await sendBroken(server, headers)
    }
  }
  // The check below means nothing unless these lines were logged.
  for (const said of [
    'starting multipart parsing',
    'This is not an HTTP/1.1 request',
    'refused credentials',
  ]) {
    await until(`the log says ${said}`, () => server.log.some((line) => line.includes(said)))
  }
  assert.equal(await server.end('SIGTERM'), 0)
  const lines = [...server.log, ...server.complaints]
  for (const key of [keys.alice, made, wrong]) {
    for (const form of formsOf(key)) {
      assert.equal(
        lines.find((line) => line.includes(form)),
        undefined,
        `the log shows ${form}`,
      )
    }
  }
})
