import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { codeOf } from '../support/answers.ts'
import { basic, keys, type TestApp } from '../support/app.ts'
import { openAppWithoutShedding } from '../support/app-without-shedding.ts'
import { project } from '../support/calls.ts'
import { exportOf, protobufOf, spanOf } from '../support/otlp.ts'
import { addressOf } from '../support/routes.ts'
import { adminsOnly, methodOf, sampleBodies } from '../support/sample-bodies.ts'

const url = '/otel/v1/traces'
const megabyte = 1024 * 1024
const types = ['application/json', 'application/x-protobuf']

async function send(
  { app }: Pick<TestApp, 'app'>,
  encoding: string,
  payload: Buffer,
  type = 'application/json',
  to: { url: string; method: 'POST' | 'PUT' } = { url, method: 'POST' },
) {
  const headers = { authorization: basic(keys.alice), 'content-type': type, 'content-encoding': encoding }
  const answer = await app.inject({ ...to, headers, payload })
  const isJson = String(answer.headers['content-type']).startsWith('application/json')
  return { status: answer.statusCode, ...(isJson && { code: codeOf({ json: answer.json() }) }) }
}

const tooLarge = { status: 413, code: 'body_too_large' }
const malformed = { status: 400, code: 'malformed_encoding' }

test('a small body that decompresses to a large one is refused', async (t) => {
  const opened = await openAppWithoutShedding(t)
  const zeros = Buffer.alloc(64 * megabyte)
  const bomb = gzipSync(zeros)
  assert.ok(bomb.length < megabyte / 8)
  for (const type of types) {
    assert.deepEqual(await send(opened, 'gzip', bomb, type), tooLarge)
    assert.deepEqual(await send(opened, 'deflate', deflateSync(zeros), type), tooLarge)
    // Consecutive members form one body (RFC 1952): here a gibibyte.
    assert.deepEqual(await send(opened, 'gzip', Buffer.concat(Array(16).fill(bomb)), type), tooLarge)
    const small = gzipSync(Buffer.alloc(megabyte, ' '))
    assert.deepEqual(await send(opened, 'gzip', Buffer.concat(Array(17).fill(small)), type), tooLarge)
  }
})

test('a body that is compressed twice is decompressed once', async (t) => {
  const opened = await openAppWithoutShedding(t)
  const twice = gzipSync(gzipSync(Buffer.alloc(64 * megabyte)))
  assert.deepEqual(await send(opened, 'gzip', twice), { status: 400, code: 'malformed_json' })
  assert.deepEqual(await send(opened, 'gzip', twice, types[1]), { status: 400, code: 'malformed_protobuf' })
  for (const encoding of [
    'gzip, gzip',
    'gzip,deflate',
    'gzip;q=1',
    'br',
    'zstd',
    'compress',
    '*',
    '__proto__',
  ]) {
    const answer = await send(opened, encoding, twice)
    assert.deepEqual(answer, { status: 415, code: 'unsupported_encoding' }, encoding)
  }
})

test('a compressed body that is cut off, changed or in another format is refused', async (t) => {
  const opened = await openAppWithoutShedding(t)
  const body = exportOf([spanOf()])
  for (const [type, bytes] of [
    [types[0], Buffer.from(JSON.stringify(body))],
    [types[1], protobufOf(body)],
  ] as const) {
    const whole = gzipSync(bytes)
    assert.equal((await send(opened, 'gzip', whole, type)).status, 200)
    for (let length = 1; length < whole.length; length += 17) {
      assert.deepEqual(await send(opened, 'gzip', whole.subarray(0, length), type), malformed, String(length))
    }
    const deflated = deflateSync(bytes)
    assert.deepEqual(await send(opened, 'deflate', deflated.subarray(0, -1), type), malformed)
    const wrongSum = Buffer.from(whole)
    wrongSum.writeUInt32LE(0, whole.length - 8)
    assert.deepEqual(await send(opened, 'gzip', wrongSum, type), malformed)
    assert.deepEqual(await send(opened, 'gzip', bytes, type), malformed)
    assert.deepEqual(await send(opened, 'gzip', deflated, type), malformed)
    assert.deepEqual(await send(opened, 'deflate', whole, type), malformed)
    assert.deepEqual(await send(opened, 'deflate', deflateRawSync(bytes), type), malformed)
    assert.equal((await send(opened, 'identity', whole, type)).status, 400)
  }
})

test('bodies that grow when they are parsed stay within bounds', async (t) => {
  const opened = await openAppWithoutShedding(t)
  const taken = async (body: object | string) => {
    const payload = gzipSync(typeof body === 'string' ? body : JSON.stringify(body))
    const headers = {
      authorization: basic(keys.alice),
      'content-type': 'application/json',
      'content-encoding': 'gzip',
    }
    const answer = await opened.app.inject({ method: 'POST', url, headers, payload })
    return { status: answer.statusCode, body: answer.json() }
  }
  const steps = (n: number) => `${n}.${'a.'.repeat(200)}z`
  const deepNames = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [steps(n), 'x']))
  const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`a${n}`, 'x']))
  const deepValue = `${'{"arrayValue":{"values":['.repeat(90)}{}${']}}'.repeat(90)}`
  const inside = JSON.parse(deepValue) as Record<string, unknown>
  const wide = { arrayValue: { values: Array(20_000).fill({ intValue: '1' }) } }
  for (const attributes of [deepNames, many, { wide }]) {
    const { status, body } = await taken(exportOf([spanOf(attributes), spanOf()]))
    assert.deepEqual([status, body.partialSuccess.rejectedSpans], [200, '1'])
    assert.ok(body.partialSuccess.errorMessage.length < 1_000)
  }
  const { status, body } = await taken(exportOf([spanOf({ inside })]))
  assert.ok(status === 413 || (status === 200 && body.partialSuccess === undefined), JSON.stringify(body))
  const json = `[${'[],'.repeat(200_000)}[]]`
  assert.deepEqual(await taken(exportOf([spanOf({ 'input.value': json })])), { status: 200, body: {} })
  const empty = `{"resourceSpans":[${'{},'.repeat(60_000)}{}]}`
  const { status: refused, body: why } = await taken(empty)
  assert.deepEqual([refused, why.code], [413, 'too_many_ids'])
})

const shared = await openAppWithoutShedding({ after: (close) => after(close) })

for (const [path, sampleOf] of Object.entries(sampleBodies)) {
  // Both addresses accept the same spans.
  if (/\/v1\/(?:traces|logs|metrics)$/.test(path)) continue
  // Without the role of an admin, a caller is refused before the body is read: test/app/people.
  if (adminsOnly.has(path)) continue
  test(`${path} refuses compressed bodies`, async () => {
    const method = methodOf(path) as 'POST' | 'PUT'
    const bytes = Buffer.from(JSON.stringify(sampleOf(project)))
    for (const [encoding, payload] of [
      ['gzip', gzipSync(bytes)],
      ['deflate', deflateSync(bytes)],
      ['br', bytes],
    ] as const) {
      const answer = await send(shared, encoding, payload, types[0], {
        url: addressOf({ url: path }),
        method,
      })
      assert.deepEqual(answer, { status: 415, code: 'unsupported_encoding' })
    }
  })
}
