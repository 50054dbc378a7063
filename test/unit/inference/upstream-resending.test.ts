import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Refusal } from '../../../src/domain/refusals.ts'
import type { Address } from '../../../src/inference/upstream/addresses.ts'
import { createAsk } from '../../../src/inference/upstream/asking.ts'
import { emptyLoad } from '../../../src/inference/upstream/deliveries.ts'
import { UnreachableError } from '../../../src/inference/upstream/exchange.ts'
import { createResendBudgets, pauseMsOf } from '../../../src/inference/upstream/resending.ts'
import { retryAdviceOf } from '../../../src/inference/upstream/retry-headers.ts'

// How often requests are sent again, on a clock that stands still unless it is told.

type Reply = { status: number; headers?: Record<string, string> } | 'unreachable'

const question = { path: 'x', body: '{}', kind: 'openai', beginning: '', shows: 'speed' } as const

/** Addresses of which each answers the same to every request, unless a list says what comes next. */
function cluster(replies: (Reply | Reply[])[], { retries = 0 } = {}) {
  let time = 1_000_000
  const sent = replies.map(() => 0)
  const rests: number[] = []
  const resent: string[] = []
  const withheld: string[] = []
  const state = {
    rest: async (_ms: number, _signal: AbortSignal): Promise<void> => {},
    withheld,
    resent,
    rests,
    sent,
    pass(ms: number) {
      time += ms
    },
  }
  const all = replies.map((_, index): Address => {
    const url = `http://10.0.0.${index}/v1`
    return { ...emptyLoad(), url, shown: url, weight: 1, fault: undefined }
  })
  const askNow = createAsk({
    addresses: { inOrder: () => [...all], failed() {}, cool() {}, recheck() {} },
    silenceMs: 60_000,
    retries,
    budgetOf: createResendBudgets(() => time),
    resent: (reason) => resent.push(reason),
    withheld: (reason) => withheld.push(reason),
    random: () => 0.5,
    rest(ms, signal) {
      rests.push(ms)
      return state.rest(ms, signal)
    },
    async send(address) {
      const index = all.indexOf(address)
      const count = sent[index] ?? 0
      sent[index] = count + 1
      const list = replies[index] as Reply | Reply[]
      const reply = Array.isArray(list) ? (list[Math.min(count, list.length - 1)] as Reply) : list
      if (reply === 'unreachable') throw new UnreachableError('ECONNREFUSED')
      const { status: statusCode, headers = {} } = reply
      return Object.assign(Readable.from([Buffer.from('{}')]), {
        statusCode,
        headers,
      }) as unknown as IncomingMessage
    },
  })
  return {
    ...state,
    state,
    all,
    async ask(signal = new AbortController().signal, tenant = 'ann'): Promise<string> {
      try {
        const taken = await askNow({ ...question, tenant }, signal)
        taken.done()
        return 'answered'
      } catch (error) {
        if (error instanceof Refusal) return error.code
        throw error
      }
    },
  }
}

const ok: Reply = { status: 200 }
const busy = (after?: string): Reply => ({
  status: 429,
  ...(after !== undefined && { headers: { 'retry-after': after } }),
})

test('a fifth of the requests of ten seconds may be sent again, and ten more', () => {
  let time = 5_000
  const budget = createResendBudgets(() => time)('ann')
  const taken = () => {
    let count = 0
    while (budget.take()) count++
    return count
  }
  assert.equal(taken(), 10)
  for (let i = 0; i < 100; i++) budget.sent()
  assert.equal(taken(), 20)
  time += 9_000
  assert.equal(taken(), 0)
  for (let i = 0; i < 50; i++) budget.sent()
  assert.equal(taken(), 10)
  // The first second is over, with all that was sent and sent again in it.
  time += 1_000
  assert.equal(taken(), 10)
  time += 60_000
  assert.equal(taken(), 10)
})

for (const [name, reply, each] of [
  ['busy', busy('7'), 2],
  ['failing', { status: 500 }, 1],
] as const) {
  test(`a ${name} server gets a fifth more than it was asked, and each client its error at once`, async () => {
    const servers = cluster([reply, reply, reply])
    for (let i = 0; i < 500; i++)
      assert.equal(await servers.ask(), name === 'busy' ? 'upstream_busy' : 'upstream_unavailable')
    const all = servers.sent.reduce((a, b) => a + b, 0)
    assert.equal(all, 500 + 10 + 100)
    assert.equal(servers.resent.length, 110)
    assert.ok(servers.withheld.length >= 500 - 110 / each, `${servers.withheld.length}`)
    assert.deepEqual([...new Set(servers.withheld)], [name === 'busy' ? 'busy' : 'failed'])
    servers.pass(10_000)
    const before = servers.resent.length
    await servers.ask()
    assert.equal(servers.resent.length - before, each)
  })
}

test('a user whose requests fail uses up none of what others have', async () => {
  const failing = cluster([{ status: 500 }, { status: 500 }])
  const signal = new AbortController().signal
  for (let i = 0; i < 100; i++) await failing.ask(signal, 'ann')
  assert.ok(failing.withheld.length > 0)
  const [resent, withheld] = [failing.resent.length, failing.withheld.length]
  await failing.ask(signal, 'bob')
  assert.deepEqual([failing.resent.length, failing.withheld.length], [resent + 1, withheld])
})

test('what reached nobody is always sent to another address', async () => {
  const servers = cluster(['unreachable', ok])
  for (let i = 0; i < 200; i++) assert.equal(await servers.ask(), 'answered')
  assert.deepEqual([servers.sent, servers.withheld], [[200, 200], []])
})

for (const [name, status, headers, pause] of [
  ['a 429 with a short time', 429, { 'retry-after': '2' }, 2_500],
  ['a 503 with a short time', 503, { 'retry-after': '1' }, 1_250],
  ['a 429 that names no wait', 429, { 'retry-after': '0' }, 250],
  ['a 429 with a long time', 429, { 'retry-after': '6' }, undefined],
  ['a 429 without a time', 429, {}, undefined],
  ['a 429 with an empty time', 429, { 'retry-after': ' ' }, undefined],
  ['a 429 with no time', 429, { 'retry-after': 'soon' }, undefined],
  ['a 429 with a near date', 429, { 'retry-after': 'Thu, 01 Jan 1970 00:16:42 GMT' }, 2_500],
  ['a 429 with a past date', 429, { 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }, 250],
  ['a 429 with a far date', 429, { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }, undefined],
  [
    'a date by the clock of the server',
    429,
    { date: 'Wed, 21 Oct 2026 07:27:58 GMT', 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' },
    2_500,
  ],
  ['milliseconds, which are more exact', 429, { 'retry-after-ms': '1200', 'retry-after': '2' }, 1_500],
  [
    'the reset of a limit that is used up',
    429,
    {
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '1s500ms',
      'x-ratelimit-remaining-tokens': '7',
      'x-ratelimit-reset-tokens': '6m0s',
    },
    1_875,
  ],
  [
    'the reset of a limit that is not used up',
    429,
    { 'x-ratelimit-remaining-tokens': '7', 'x-ratelimit-reset-tokens': '1s' },
    undefined,
  ],
  [
    'a Retry-After, whatever limits say',
    429,
    { 'retry-after': '2', 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '1s' },
    2_500,
  ],
  [
    'a reset that cannot be read',
    429,
    { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '1767225600' },
    undefined,
  ],
  ['a 500, which may be the work of the request', 500, { 'retry-after': '1' }, undefined],
  ['a 500 after which trying again is worth while', 500, { 'x-should-retry': 'true' }, 250],
  ['a 429 after which it is not', 429, { 'retry-after': '1', 'x-should-retry': 'false' }, undefined],
] as const) {
  test(`the pause after ${name}: ${pause}`, () => {
    const advice = retryAdviceOf(status, headers, 1_000_000)
    assert.equal(
      pauseMsOf(status, advice, () => 0.5),
      pause,
    )
  })
}

test('a reset far away keeps an address cool for a minute, and a Retry-After for as long as it says', () => {
  const limits = { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '23h59m' }
  assert.equal(retryAdviceOf(429, limits).seconds, 60)
  assert.equal(retryAdviceOf(429, { ...limits, 'retry-after': '600' }).seconds, 600)
})

test('a request that would fail again is sent to no other address, unless nothing was done for it', async () => {
  const headers = { 'x-should-retry': 'false' }
  const failing = cluster([{ status: 500, headers }, ok])
  assert.equal(await failing.ask(), 'upstream_unavailable')
  assert.deepEqual(failing.sent, [1, 0])
  const limited = cluster([{ status: 429, headers }, ok])
  assert.equal(await limited.ask(), 'answered')
})

test('a failure after which trying again is worth while is sent to an only address once more', async () => {
  const servers = cluster([{ status: 500, headers: { 'x-should-retry': 'true' } }], { retries: 5 })
  assert.equal(await servers.ask(), 'upstream_unavailable')
  assert.deepEqual([servers.sent, servers.rests], [[2], [250]])
})

test('the only address is asked again after the time that it named, as often as the setting says', async () => {
  const patient = cluster([[busy('1'), busy('2'), ok]], { retries: 2 })
  assert.equal(await patient.ask(), 'answered')
  assert.deepEqual(patient.rests, [1_250, 2_500])
  assert.deepEqual(patient.resent, ['busy', 'busy'])
  const once = cluster([[busy('1'), busy('2'), ok]], { retries: 1 })
  assert.equal(await once.ask(), 'upstream_busy')
  assert.deepEqual(once.sent, [2])
  const usual = cluster([busy('1')])
  assert.equal(await usual.ask(), 'upstream_busy')
  assert.deepEqual([usual.sent, usual.rests], [[1], []])
})

test('a prompt that a server answers 503 reaches it twice at most, however many retries are set', async () => {
  const servers = cluster([{ status: 503, headers: { 'retry-after': '1' } }], { retries: 5 })
  assert.equal(await servers.ask(), 'upstream_unavailable')
  assert.deepEqual(servers.sent, [2])
})

test('where there are several addresses nothing waits', async () => {
  const servers = cluster([busy('1'), busy('1')], { retries: 5 })
  assert.equal(await servers.ask(), 'upstream_busy')
  assert.deepEqual([servers.sent, servers.rests], [[1, 1], []])
})

test('retries of an only address count against the budget', async () => {
  const servers = cluster([busy('1')], { retries: 5 })
  for (let i = 0; i < 100; i++) await servers.ask()
  assert.deepEqual(servers.sent, [130])
})

test('a client that leaves ends the pause, and nothing is sent for it', async () => {
  const servers = cluster([busy('5')], { retries: 1 })
  const leaving = new AbortController()
  servers.state.rest = (_ms, signal) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const asked = servers.ask(leaving.signal)
  while (servers.rests.length === 0) await turn()
  // Its server, if it is removed from the list meanwhile, stays open as long.
  assert.equal(servers.all[0]?.running, 1)
  const left = new Error('the client has left')
  leaving.abort(left)
  await assert.rejects(asked, (error) => error === left)
  assert.deepEqual([servers.sent, servers.all[0]?.running], [[1], 0])
})
