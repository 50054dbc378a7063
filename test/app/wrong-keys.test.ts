import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { basic, keys, openApp } from '../support/app.ts'

interface Asking {
  authorization?: string
  from?: string
  forwarded?: string
  url?: string
}

const wrong = 'a-wrong-key-of-someone'

async function openGuarded(t: TestContext, settings: Record<string, string> = {}, wrongKeys = '3') {
  // The clock stands still, so that no wrong key is forgotten while the test runs.
  t.mock.method(performance, 'now', () => 1000)
  const lines: Record<string, unknown>[] = []
  const log = new Writable({
    write(line, _encoding, done) {
      lines.push(JSON.parse(String(line)))
      done()
    },
  })
  const logger = pino({ level: 'trace' }, log)
  const { app } = await openApp(t, { logger, settings: { HEDDLE_WRONG_KEYS: wrongKeys, ...settings } })
  const ask = async ({ authorization = `Bearer ${wrong}`, from, forwarded, url }: Asking = {}) => {
    const answer = await app.inject({
      method: 'GET',
      url: url ?? '/server_info',
      headers: { authorization, ...(forwarded !== undefined && { 'x-forwarded-for': forwarded }) },
      remoteAddress: from ?? '192.0.2.1',
    })
    return { status: answer.statusCode, headers: answer.headers, json: answer.json() }
  }
  const statuses = async (count: number, asking?: Asking) => {
    const found: number[] = []
    for (let i = 0; i < count; i++) found.push((await ask(asking)).status)
    return found
  }
  return { ask, statuses, lines }
}

test('too many wrong keys from one address are a 429 that says when to try again', async (t) => {
  const { ask, statuses } = await openGuarded(t)
  assert.deepEqual(await statuses(4), [401, 401, 401, 429])
  const { headers, json } = await ask()
  assert.equal(headers['retry-after'], '20')
  assert.equal(headers['www-authenticate'], undefined)
  assert.deepEqual(json, {
    reason: 'Too many wrong keys came from your address. Try again in 20 s, or send a valid key now.',
    code: 'too_many_wrong_keys',
  })
  const underV1 = await ask({ url: '/v1/models' })
  assert.deepEqual([underV1.status, underV1.json.error.type], [429, 'rate_limit_error'])
  assert.deepEqual(await statuses(1, { from: '192.0.2.2' }), [401], 'other addresses are not affected')
})

test('a valid key is served, whatever its address sent before and after', async (t) => {
  const { statuses } = await openGuarded(t)
  for (let i = 0; i < 3; i++) {
    await statuses(4)
    for (const authorization of [basic(keys.alice), basic(keys.alice, 'alice'), `Bearer ${keys.bob}`]) {
      assert.deepEqual(await statuses(1, { authorization }), [200])
    }
  }
})

test('wrong keys never lock a user name, nor the shared name api', async (t) => {
  const { statuses } = await openGuarded(t)
  for (const name of ['api', 'alice']) {
    await statuses(10, { authorization: basic(wrong, name), from: '192.0.2.9' })
    assert.deepEqual(await statuses(1, { authorization: basic(wrong, name) }), [401])
    assert.deepEqual(await statuses(1, { authorization: basic(keys.alice, name), from: '192.0.2.9' }), [200])
  }
})

test('wrong keys of every form count, and requests without a key do not', async (t) => {
  const { statuses } = await openGuarded(t, {}, '4')
  assert.deepEqual(await statuses(6, { authorization: 'Basic !!!' }), [401, 401, 401, 401, 401, 401])
  assert.deepEqual(await statuses(6, { authorization: '' }), [401, 401, 401, 401, 401, 401])
  const forms = [`Bearer ${wrong}`, basic(wrong), basic(wrong, 'alice'), basic(keys.alice, 'bob')]
  for (const authorization of forms) assert.deepEqual(await statuses(1, { authorization }), [401])
  for (const authorization of forms) assert.deepEqual(await statuses(1, { authorization }), [429])
})

test('IPv6 addresses count per /64, and an IPv4 address counts the same when mapped to IPv6', async (t) => {
  const { statuses } = await openGuarded(t)
  assert.deepEqual(await statuses(4, { from: '2001:db8::1' }), [401, 401, 401, 429])
  assert.deepEqual(await statuses(1, { from: '2001:db8:0:0:ffff::2' }), [429])
  assert.deepEqual(await statuses(1, { from: '2001:db8:0:1::1' }), [401])
  assert.deepEqual(await statuses(4), [401, 401, 401, 429])
  assert.deepEqual(await statuses(1, { from: '::ffff:192.0.2.1' }), [429])
})

test('0 switches the limit off', async (t) => {
  const { statuses } = await openGuarded(t, {}, '0')
  assert.deepEqual(new Set(await statuses(100)), new Set([401]))
})

test('forwarded addresses are accepted only from a trusted proxy', async (t) => {
  const plain = await openGuarded(t)
  const forwarded = (n: number) => `198.51.100.${n}`
  const statuses = []
  for (let n = 0; n < 4; n++) statuses.push(...(await plain.statuses(1, { forwarded: forwarded(n) })))
  assert.deepEqual(statuses, [401, 401, 401, 429])

  for (const HEDDLE_TRUST_PROXY of ['10.0.0.0/8', '10.1.2.3', 'private', '1']) {
    const { statuses } = await openGuarded(t, { HEDDLE_TRUST_PROXY })
    const from = '10.1.2.3'
    assert.deepEqual(await statuses(4, { from, forwarded: '198.51.100.1' }), [401, 401, 401, 429])
    assert.deepEqual(await statuses(1, { from, forwarded: '198.51.100.2' }), [401])
    const spoofed = { from, forwarded: '203.0.113.7, 198.51.100.1' }
    assert.deepEqual(
      await statuses(1, spoofed),
      [429],
      'the last address in the header is the one that the proxy saw',
    )
    assert.deepEqual(new Set(await statuses(9, { from })), new Set([401]), 'without a forwarded address')
    assert.deepEqual(new Set(await statuses(9, { from, forwarded: 'unknown' })), new Set([401]))
  }

  const { statuses: direct } = await openGuarded(t, { HEDDLE_TRUST_PROXY: '10.0.0.0/8' })
  assert.deepEqual(await direct(4, { forwarded: '198.51.100.1' }), [401, 401, 401, 429])
  assert.deepEqual(
    await direct(1, { forwarded: '198.51.100.2' }),
    [429],
    'without a trusted proxy the header is ignored',
  )
})

test('the log names the refused address, and never the key', async (t) => {
  const { statuses, lines } = await openGuarded(t)
  await statuses(4, { authorization: basic(wrong, 'alice') })
  await statuses(1, { authorization: 'Basic !!!' })
  const refused = lines.filter(({ msg }) => msg === 'refused credentials')
  assert.deepEqual(
    refused.map(({ level, address, code }) => ({ level, address, code })),
    [
      ...Array(4).fill({ level: 30, address: '192.0.2.1', code: 'wrong_credentials' }),
      { level: 30, address: '192.0.2.1', code: 'malformed_credentials' },
    ],
  )
  const log = JSON.stringify(lines)
  for (const form of [wrong, basic(wrong, 'alice').slice(6)]) assert.ok(!log.includes(form))
})

test('delayed answers hold up no valid key, and beyond a bound wrong keys are refused at once', async (t) => {
  const { ask, statuses } = await openGuarded(t, {}, '9')
  const ofEach = () => Promise.all(Array.from({ length: 100 }, (_, n) => ask({ from: `192.0.2.${n}` })))
  assert.deepEqual(new Set((await ofEach()).map(({ status }) => status)), new Set([401]))
  // The more wrong keys an address has sent, the longer its answers are delayed.
  await Promise.all(Array.from({ length: 7 }, ofEach))
  const held = ofEach()
  assert.deepEqual(await statuses(5, { authorization: basic(keys.alice) }), [200, 200, 200, 200, 200])
  const counted = Map.groupBy(await held, ({ status }) => status)
  assert.deepEqual([counted.get(401)?.length, counted.get(429)?.length], [64, 36])
})
