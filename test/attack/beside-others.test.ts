import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { basic, keys } from '../support/app.ts'
import { openAppWithoutShedding } from '../support/app-without-shedding.ts'
import { completeOf, project } from '../support/calls.ts'
import { asking, chatUrl } from '../support/chat.ts'
import { openEvents, serveApp } from '../support/event-stream.ts'
import { withTimeout } from '../support/wait.ts'

/** Opens an event stream and never reads it. */
async function unreadEvents(address: string, key: string): Promise<Socket> {
  const { hostname, port } = new URL(address)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(`GET /views/events HTTP/1.1\r\nHost: heddle\r\nAuthorization: ${basic(key)}\r\n\r\n`)
  const [head] = await once(socket, 'data')
  socket.pause()
  assert.match(String(head), /^HTTP\/1.1 200/)
  return socket
}

test('a tenant that opens all its event streams and reads none does not block those of others', async (t) => {
  const { address, post } = await serveApp(t, { settings: { HEDDLE_MAX_LOOP_DELAY: '0' } })
  const sockets = await Promise.all(Array.from({ length: 32 }, () => unreadEvents(address, keys.alice)))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  const further = await fetch(`${address}/views/events`, { headers: { authorization: basic(keys.alice) } })
  assert.equal(further.status, 429, await further.text())
  const bobs = await openEvents(t, address, { key: keys.bob })
  assert.equal((await bobs.next())?.name, 'open')
  for (let n = 0; n < 8; n++) {
    // So many that the unread events do not fit into the buffers of a connection.
    const batch = Array.from({ length: 400 }, () => completeOf({ project_id: `acme/p${n}` }))
    const wrote = await post(`/v2/acme/p${n}/calls/complete`, { batch })
    assert.equal(wrote.status, 200, wrote.text)
    const own = completeOf({ project_id: 'globex/qa' })
    assert.equal((await post('/v2/globex/qa/calls/complete', { batch: [own] }, keys.bob)).status, 200)
    const told = await withTimeout('the other hears of its own call', bobs.next())
    assert.deepEqual([told?.name, told?.data.project, told?.data.ids], ['change', 'globex/qa', [own.id]])
  }
})

test('endless new templates of one user are answered, and another user is served meanwhile', async (t) => {
  const { post } = await openAppWithoutShedding(t)
  let isOver = false
  let sent = 0
  const heavy = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      const n = sent++
      const loop =
        '{% for m in messages %}{% if m.tool_calls %}{{ m.tool_calls | tojson }}{% endif %}{{ m.content }}{% endfor %}'
      const answer = await post(chatUrl, asking({ chat_template: `{# ${n} #}${loop.repeat(1 + (n % 20))}` }))
      assert.ok([200, 400, 429].includes(answer.status), `${answer.status} ${answer.text}`)
    }
  })
  for (let n = 0; n < 20 || sent < 80; n++) {
    const answer = await withTimeout('another is answered', post(chatUrl, asking(), keys.bob))
    assert.equal(answer.status, 200, answer.text)
  }
  isOver = true
  await Promise.all(heavy)
})

const nested = (open: string, depth: number, inner = 'a') => open.repeat(depth) + inner + ')'.repeat(depth)

/** Nested lookarounds, and as many as a pattern may have. */
const patterns = {
  'ahead in ahead': `${nested('(?=', 31)}a`,
  'not in not': `${nested('(?!', 31)}.`,
  'behind in behind': `.*${nested('(?<=', 31)}`,
  'ahead in behind in ahead': `^${'(?=.*(?<=a.*'.repeat(8)}b${'))'.repeat(8)}.*$`,
  'not behind in not ahead': `^${'(?!.*(?<!a.{1,9}'.repeat(7)}b${'))'.repeat(7)}.*$`,
  'many beside each other': `^${Array.from({ length: 31 }, (_, n) => `(?=.*${String.fromCharCode(97 + (n % 26))}.{${n}})`).join('')}.*$`,
  'many that forbid': `^${Array.from({ length: 31 }, (_, n) => `(?!.*x.{${n * 7}}y)`).join('')}.*$`,
  'counted around': `^((?=.{0,400}a)(?!.{0,300}b).){0,500}$`,
  'boundaries in repetitions': `^(\\b\\w{1,50}\\b\\W{1,50}){1,200}$`,
  'choices in ahead': `^(?=${Array.from({ length: 300 }, (_, n) => `.*${n.toString(36)}z`).join('|')}).*$`,
}

test('deeply nested lookarounds compile or are refused, and another user is served meanwhile', async (t) => {
  const { post } = await openAppWithoutShedding(t)
  for (const [what, regex] of Object.entries(patterns)) {
    const body = asking({ structured_outputs: { regex }, max_tokens: 2 })
    const [answer, other] = await withTimeout(
      what,
      Promise.all([
        post(chatUrl, body),
        post(chatUrl, asking({ structured_outputs: { choice: ['yes', 'no'] }, max_tokens: 2 }), keys.bob),
      ]),
    )
    assert.ok(answer.status === 200 || answer.status === 400, `${what}: ${answer.status} ${answer.text}`)
    assert.equal(other.status, 200, `${what}: ${other.text}`)
  }
})

const literals = (count: number) => Array.from({ length: count }, (_, n) => ({ $literal: `value ${n}` }))
const field = { $getField: 'inputs.question' }
const not = (depth: number): object => {
  let found: object = { $eq: [field, { $literal: 1 }] }
  for (let n = 0; n < depth; n++) found = { $not: [found] }
  return found
}
const texts = (count: number) => Array.from({ length: count }, (_, n) => `name ${n} ${'x'.repeat(40)}`)

/** Very much of everything that a view accepts. */
const selections: Record<string, object> = {
  'many ids': { filter: { call_ids: texts(100_000) } },
  'many names': { filter: { op_names: texts(50_000), trace_ids: texts(50_000) } },
  'many values': { query: { $expr: { $in: [field, literals(50_000)] } } },
  'many conditions': {
    query: { $expr: { $or: Array.from({ length: 5_000 }, (_, n) => ({ $eq: [field, { $literal: n }] })) } },
  },
  'deep conditions': { query: { $expr: not(190) } },
  'a long path': {
    query: { $expr: { $eq: [{ $getField: `inputs.${'a.'.repeat(20_000)}b` }, { $literal: 1 }] } },
  },
  'a long literal': {
    query: { $expr: { $contains: { input: field, substr: { $literal: 'x'.repeat(2_000_000) } } } },
  },
  'many sorts': { sort_by: Array.from({ length: 5_000 }, () => ({ field: 'started_at', direction: 'asc' })) },
}

test('a huge request for a view is answered or refused, and another user is served meanwhile', async (t) => {
  const { post } = await openAppWithoutShedding(t)
  const batch = Array.from({ length: 200 }, (_, n) => completeOf({ inputs: { question: `value ${n}` } }))
  assert.equal((await post(`/v2/${project}/calls/complete`, { batch })).status, 200)
  const after = '2026-01-01T00:00:00Z'
  const views: [url: string, fields: object][] = [
    ['/views/calls', { limit: 1_000, count_up_to: 1_000_000 }],
    ['/views/facets', {}],
    [
      '/views/buckets',
      { after, before: '2026-01-03T00:00:00Z', step_seconds: 173, by: 'op', timed: 'latency' },
    ],
  ]
  for (const [url, fields] of views) {
    for (const [what, selection] of Object.entries(selections)) {
      const [answer, other] = await withTimeout(
        `${url}: ${what}`,
        Promise.all([
          post(url, { project_id: project, ...fields, ...selection }),
          post('/views/calls', { project_id: 'globex/qa' }, keys.bob),
        ]),
      )
      assert.ok(answer.status < 500, `${url}, ${what}: ${answer.status} ${answer.text.slice(0, 500)}`)
      assert.ok(answer.text.length < 2_000_000, `${url}, ${what}: ${answer.text.length} characters`)
      assert.equal(other.status, 200, other.text)
    }
  }
  const runs = { evaluation_call_ids: texts(20_000) }
  for (const [url, body] of [
    ['/views/evaluations', { project_id: project, filter: { call_ids: texts(20_000) } }],
    ['/views/scores', { project_id: project, ...runs, field: `scores.${'a.'.repeat(500)}b` }],
    ['/views/rank', { project_id: project, ...runs, row_digest: 'x'.repeat(256) }],
  ] as const) {
    const answer = await withTimeout(url, post(url, body))
    assert.ok(answer.status < 500, `${url}: ${answer.status} ${answer.text.slice(0, 500)}`)
  }
})
