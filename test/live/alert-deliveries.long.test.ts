import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { keys, openApp, type TestParts } from '../support/app.ts'
import { completeOf, project } from '../support/calls.ts'
import { evaluationRunsOf } from '../support/evaluation-runs.ts'
import { until } from '../support/wait.ts'
import { type Received, startReceiver } from './webhook-receiver.ts'

/** An app that sends messages to this machine, with pauses a thousandth as long. */
async function openAlerts(t: TestContext, { webhooks, ...parts }: TestParts = {}) {
  const opened = await openApp(t, {
    settings: { HEDDLE_WEBHOOK_ALLOW: 'loopback' },
    sweep: true,
    webhooks: { haste: 1_000, ...webhooks },
    ...parts,
  })
  const ok = async (url: string, body: object) => {
    const answer = await opened.post(url, { project_id: project, ...body })
    assert.equal(answer.status, 200, answer.text)
    return answer.json
  }
  const endpoint = async (fields: object) => {
    const { endpoint, secret } = await ok('/alert_endpoints', { name: 'e', ...fields })
    return { id: endpoint.id as string, secret: secret as string }
  }
  const stateOf = async (id: string) => {
    const { endpoints } = (await opened.get(`/alert_endpoints?project_id=${project}`)).json
    return endpoints.find((other: { id: string }) => other.id === id)
  }
  const deliveries = async (endpoint_id: string) => {
    const { events } = await ok('/alert_events/query', { endpoint_id })
    return events.flatMap((event: { id: string; deliveries: { endpoint_id: string }[] }) =>
      event.deliveries
        .filter((delivery) => delivery.endpoint_id === endpoint_id)
        .map((delivery) => ({ id: event.id, ...delivery })),
    )
  }
  const failing = () => ok('/alert_rules', { name: 'Failures', on: 'call', query: failed })
  const fail = async (fields: Record<string, unknown> = {}) => {
    const call = failedCall(fields)
    const answer = await opened.post('/v2/acme/qa/calls/complete', { batch: [call] })
    assert.equal(answer.status, 200, answer.text)
    return call.id as string
  }
  return { ...opened, ok, endpoint, stateOf, deliveries, failing, fail }
}

const failed = { $expr: { $eq: [{ $getField: 'summary.weave.status' }, { $literal: 'error' }] } }

function failedCall(fields: Record<string, unknown> = {}) {
  const at = new Date().toISOString()
  return completeOf({ started_at: at, ended_at: at, exception: 'Boom', ...fields })
}

test('what receivers answer decides what becomes of a delivery', async (t) => {
  const answers: Record<string, (response: ServerResponse) => void> = {
    '/200': (response) => response.end('ok'),
    '/watch': (response) => response.end(),
    '/302': (response) => response.writeHead(302, { location: '/moved' }).end(),
    '/400': (response) => response.writeHead(400).end(),
    '/410': (response) => response.writeHead(410).end(),
    '/429': (response) => response.writeHead(429, { 'retry-after': '36000' }).end(),
    '/cut': (response) => response.socket?.destroy(),
    '/cut-body': (response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('x', () => response.socket?.destroy())
    },
    '/endless': (response) => {
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      }
      response.on('drain', more)
      response.on('close', () => closed.resolve())
      more()
    },
  }
  const closed = Promise.withResolvers<void>()
  const receiver = await startReceiver(t, ({ path }, response) => answers[path]?.(response))
  const { endpoint, stateOf, deliveries, failing, fail } = await openAlerts(t)
  const endpoints: Record<string, { id: string; secret: string }> = {}
  for (const path of Object.keys(answers).filter((name) => name !== '/watch')) {
    endpoints[path] = await endpoint({ url: receiver.url + path, types: ['alert.fired'] })
  }
  const watching = await endpoint({ url: `${receiver.url}/watch`, types: ['endpoint.disabled'] })
  await failing()
  const call = await fail()
  const of = async (path: string) => (await deliveries(endpoints[path]?.id as string))[0]
  const sent = ['/200', '/cut-body', '/endless']
  for (const path of sent) {
    await until(`${path} is sent`, async () => (await of(path)).state === 'sent')
    assert.equal((await of(path)).status, 200)
  }
  await closed.promise
  for (const [path, status, error] of [
    ['/302', 302, /it answered 302/],
    ['/400', 400, /it answered 400/],
    ['/cut', null, /the connection failed/],
  ] as const) {
    await until(`${path} is tried again`, async () => (await of(path)).tries >= 2)
    const delivery = await of(path)
    assert.equal(delivery.status, status)
    assert.match(delivery.error, error)
    assert.ok((await stateOf(endpoints[path]?.id as string)).failures >= 2)
  }
  await until('a gone endpoint is off', async () => !(await stateOf(endpoints['/410']?.id as string)).active)
  assert.match((await stateOf(endpoints['/410']?.id as string)).stopped, /410/)
  await until('nothing more is sent to it', async () => (await of('/410')).state === 'dead')
  await until('others learn of it', async () => (await deliveries(watching.id))[0]?.state === 'sent')
  await until('/429 is tried', async () => (await of('/429')).tries >= 1)
  const late = await of('/429')
  assert.equal(late.state, 'pending')
  // 36000 s by the receiver, a thousandth of it here, instead of 5 s; both times are taken one after the other.
  assert.ok(Date.parse(late.next_at) - Date.parse(late.updated_at) >= 18_000)
  assert.equal(receiver.received.filter(({ path }) => path === '/moved').length, 0)

  const [first] = receiver.received.filter(({ path }) => path === '/200') as [Received]
  const body = new Webhook(endpoints['/200']?.secret as string).verify(
    first.body,
    first.headers as Record<string, string>,
  ) as { type: string; timestamp: string; data: { call_id: string } }
  assert.equal(body.type, 'alert.fired')
  assert.equal(body.data.call_id, call)
  const ids = receiver.received
    .filter(({ path }) => path === '/400')
    .map(({ headers }) => headers['webhook-id'])
  assert.ok(ids.length >= 2)
  assert.equal(new Set(ids).size, 1)
  assert.match(ids[0] as string, /^[\da-f]{8}-[\da-f]{4}-7/)
})

test('who does not answer in time is tried again', async (t) => {
  const receiver = await startReceiver(t, () => undefined)
  const { endpoint, stateOf, deliveries, failing, fail } = await openAlerts(t, {
    webhooks: { timeoutMs: 300 },
  })
  const { id } = await endpoint({ url: receiver.url })
  await failing()
  await fail()
  await until('it is tried again', async () => (await deliveries(id))[0].tries >= 2)
  const [{ status, error }] = await deliveries(id)
  assert.equal(status, null)
  assert.match(error, /no answer within 0.3 s/)
  assert.ok((await stateOf(id)).failures >= 2)
})

test('a slow endpoint keeps no other waiting, and a recovered one gets what waited', async (t) => {
  let isUp = false
  const receiver = await startReceiver(t, ({ path }, response) => {
    if (path === '/fast') response.end()
    if (path === '/down') response.writeHead(isUp ? 200 : 503).end()
  })
  const { endpoint, deliveries, failing, fail, stateOf } = await openAlerts(t, {
    webhooks: { timeoutMs: 600_000, haste: 100 },
  })
  const slow = await endpoint({ url: `${receiver.url}/hang` })
  const down = await endpoint({ url: `${receiver.url}/down` })
  const fast = await endpoint({ url: `${receiver.url}/fast` })
  await failing()
  for (let i = 0; i < 30; i++) await fail()
  const sentTo = async (id: string) =>
    (await deliveries(id)).filter(({ state }: { state: string }) => state === 'sent').length
  await until('all are sent to the fast one', async () => (await sentTo(fast.id)) === 30)
  assert.equal(await sentTo(slow.id), 0)
  await until('the failing one rests', async () => (await stateOf(down.id)).failures > 0)
  isUp = true
  await until('what waited is sent', async () => (await sentTo(down.id)) === 30)
  assert.equal((await stateOf(down.id)).failures, 0)
})

test('messages of a rule arrive in their order, and keep those of another rule no longer than those', async (t) => {
  const { promise: other, resolve: otherArrives } = Promise.withResolvers<void>()
  const seen: string[] = []
  const receiver = await startReceiver(t, async ({ body }, response) => {
    const { op_name } = JSON.parse(body).data
    seen.push(op_name)
    if (op_name === 'other') otherArrives()
    if (op_name !== 'a1') return response.end()
    // The first is refused, then slow until the other rule's message has arrived.
    const tries = seen.filter((name) => name === 'a1').length
    if (tries === 1) return response.writeHead(400).end()
    await other
    response.end()
  })
  const { ok, post, endpoint, deliveries, fail } = await openAlerts(t, { webhooks: { haste: 10 } })
  const { id } = await endpoint({ url: receiver.url })
  const names = ['a1', 'a2', 'a3', 'a4']
  for (const [name, op_names] of [
    ['own', names],
    ['other', ['other']],
  ] as const)
    await ok('/alert_rules', { name, on: 'call', filter: { op_names } })
  const batch = names.map((op_name) => failedCall({ op_name }))
  assert.equal((await post('/v2/acme/qa/calls/complete', { batch })).status, 200)
  await until('the first is tried again', () => seen.length === 2)
  await fail({ op_name: 'other' })
  await until('all are sent', async () =>
    (await deliveries(id)).every(({ state }: { state: string }) => state === 'sent'),
  )
  assert.deepEqual(seen, ['a1', 'a1', 'other', 'a2', 'a3', 'a4'])
})

test('a project with more slow endpoints than slots leaves the other projects their turn', async (t) => {
  const receiver = await startReceiver(t, ({ path }, response) => {
    if (path === '/other') response.end()
    else setTimeout(() => response.end(), 20)
  })
  const { post, ok, endpoint, stateOf, failing } = await openAlerts(t)
  const slow: string[] = []
  for (let i = 0; i < 20; i++) slow.push((await endpoint({ url: `${receiver.url}/slow` })).id)
  await failing()
  const batch = Array.from({ length: 200 }, () => failedCall())
  assert.equal((await post('/v2/acme/qa/calls/complete', { batch })).status, 200)
  await until('all slots are taken', () => receiver.received.length >= 16)
  const other = { project_id: 'acme/zz' }
  const { endpoint: made } = await ok('/alert_endpoints', {
    ...other,
    name: 'e',
    url: `${receiver.url}/other`,
  })
  await ok(`/alert_endpoints/${made.id}/test`, other)
  await until('the other is sent', () => receiver.received.some(({ path }) => path === '/other'))
  const pending = await Promise.all(slow.map(async (id) => (await stateOf(id)).pending as number))
  assert.ok(pending.filter((count) => count > 0).length > 16)
})

test('while a secret is replaced both sign, and a test and a replay are real messages', async (t) => {
  const receiver = await startReceiver(t)
  const { ok, endpoint, deliveries, failing, fail } = await openAlerts(t)
  const { id, secret } = await endpoint({ url: receiver.url })
  const { secret: next } = await ok(`/alert_endpoints/${id}/rotate`, { overlap_hours: 1 })
  const { event_id } = await ok(`/alert_endpoints/${id}/test`, {})
  await until('the test arrives', () => receiver.received.length === 1)
  const [message] = receiver.received as [Received]
  assert.equal(message.headers['webhook-id'], event_id)
  for (const key of [secret, next]) {
    const { data } = new Webhook(key).verify(message.body, message.headers as Record<string, string>) as {
      data: { test: boolean }
    }
    assert.equal(data.test, true)
  }
  assert.throws(() =>
    new Webhook(`whsec_${Buffer.alloc(32, 1).toString('base64')}`).verify(
      message.body,
      message.headers as Record<string, string>,
    ),
  )
  const { secret: last } = await ok(`/alert_endpoints/${id}/rotate`, { overlap_hours: 0 })
  await failing()
  await fail()
  await until('the alert arrives', () => receiver.received.length === 2)
  const [, alert] = receiver.received as [Received, Received]
  new Webhook(last).verify(alert.body, alert.headers as Record<string, string>)
  assert.equal(String(alert.headers['webhook-signature']).split(' ').length, 1)

  await until('it is known to be sent', async () =>
    (await deliveries(id)).every(({ state }: { state: string }) => state === 'sent'),
  )
  assert.equal((await ok(`/alert_endpoints/${id}/replay`, {})).replayed, 0)
  const event_ids = [alert.headers['webhook-id'], 'unknown']
  assert.equal((await ok(`/alert_endpoints/${id}/replay`, { event_ids })).replayed, 1)
  await until('it arrives again', () => receiver.received.length === 3)
  assert.equal(receiver.received[2]?.headers['webhook-id'], alert.headers['webhook-id'])
  assert.equal(receiver.received[2]?.body, alert.body)
})

test('a message goes to the address that was checked, and to none of a private network', async (t) => {
  const receiver = await startReceiver(t)
  const { port } = new URL(receiver.url)
  const looked: string[] = []
  const resolved: Record<string, string[][]> = {
    'good.example': [['127.0.0.1'], ['10.0.0.1']],
    'inside.example': [['10.0.0.1']],
    'mixed.example': [['127.0.0.1', '::ffff:192.168.0.1']],
    'mapped.example': [['::ffff:169.254.169.254']],
    'public.example': [['93.184.216.34']],
    'empty.example': [[]],
  }
  const { endpoint, deliveries, ok } = await openAlerts(t, {
    webhooks: {
      haste: 1,
      lookup: async (host) => {
        looked.push(host)
        const turns = resolved[host]
        const addresses = (turns !== undefined && turns.length > 1 ? turns.shift() : turns?.[0]) ?? []
        return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
      },
    },
  })
  for (const [host, error] of [
    ['good.example', null],
    ['inside.example', /not public/],
    ['mixed.example', /not public/],
    ['mapped.example', /not public/],
    ['public.example', /use https/],
    ['empty.example', /no address/],
  ] as const) {
    const { id } = await endpoint({ url: `http://${host}:${port}/` })
    await ok(`/alert_endpoints/${id}/test`, {})
    await until(`${host} is tried`, async () => (await deliveries(id))[0].tries === 1)
    const [delivery] = await deliveries(id)
    if (error === null) assert.equal(delivery.state, 'sent', delivery.error)
    else assert.match(delivery.error, error)
  }
  assert.equal(receiver.received.length, 1)
  assert.equal(receiver.received[0]?.headers.host, `good.example:${port}`)
  assert.deepEqual(looked.sort(), Object.keys(resolved).sort())
})

test('what the cool-down holds back is counted, and is in the next message', async (t) => {
  const receiver = await startReceiver(t)
  const { ok, send, endpoint, fail } = await openAlerts(t)
  await endpoint({ url: receiver.url })
  const { rule } = await ok('/alert_rules', {
    name: 'Often',
    on: 'call',
    query: failed,
    cooldown_seconds: 3_600,
  })
  const shown = async () => {
    const path = `/alert_rules/${rule.id}`
    return (await send('PUT', path, { project_id: project })).json.rule
  }
  const first = await fail()
  await fail({ id: first })
  await fail()
  await fail()
  await until('one message', () => receiver.received.length === 1)
  assert.equal((await shown()).suppressed, 2)
  await send('PUT', `/alert_rules/${rule.id}`, { project_id: project, cooldown_seconds: 0 })
  await fail()
  await until('another message', () => receiver.received.length === 2)
  assert.equal(JSON.parse(receiver.received[1]?.body as string).data.suppressed_before, 2)
})

test('chats and pagers get their own forms, in which no text of a user is more than text', async (t) => {
  const receiver = await startReceiver(t)
  const { ok, endpoint, fail } = await openAlerts(t)
  const slack = await endpoint({ format: 'slack', url: `${receiver.url}/slack` })
  await endpoint({ format: 'teams', url: `${receiver.url}/teams` })
  await ok('/alert_rules', { name: '<!channel> & [all](http://x)', on: 'call', query: failed })
  await fail({ op_name: '<!here>' })
  await until('both arrive', () => receiver.received.length === 2)
  const of = (path: string) => receiver.received.find((message) => message.path === path) as Received
  const text = of('/slack').body
  assert.doesNotMatch(text, /<!/)
  const { blocks } = JSON.parse(text)
  assert.match(blocks[0].text.text, /^&lt;!channel&gt; &amp; /)
  assert.match(blocks[1].text.text, /op_name: &lt;!here&gt;/)
  new Webhook(slack.secret).verify(text, of('/slack').headers as Record<string, string>)
  const [{ content, contentType }] = JSON.parse(of('/teams').body).attachments
  assert.equal(contentType, 'application/vnd.microsoft.card.adaptive')
  assert.match(content.body[0].text, /\\\[all\\\]\\\(/)
})

test('a window fires when its figure is beyond the bound, and resolves after it', async (t) => {
  const receiver = await startReceiver(t)
  const { ok, send, endpoint, fail } = await openAlerts(t, { webhooks: { haste: 50 } })
  await endpoint({ url: receiver.url })
  const window = { measure: 'error_rate', seconds: 3_600, above: 0.5, min_count: 2 }
  const fields = { on: 'window', filter: { op_names: ['job'] }, window }
  const { rule } = await ok('/alert_rules', { name: 'Half', ...fields })
  await fail({ op_name: 'other' })
  await fail({ op_name: 'job' })
  await fail({ op_name: 'job' })
  await until('it fires', () => receiver.received.length === 1)
  const { data } = JSON.parse(receiver.received[0]?.body as string)
  assert.equal(data.value, 1)
  assert.equal(data.count, 2)
  assert.equal(data.window.measure, 'error_rate')
  for (let i = 0; i < 3; i++) await fail({ op_name: 'job', exception: null })
  await until('it resolves', () => receiver.received.length === 2)
  assert.equal(JSON.parse(receiver.received[1]?.body as string).type, 'alert.resolved')
  const { events } = await ok('/alert_events/query', { rule_id: rule.id })
  assert.equal(events.length, 2)
  const tried = await ok('/alert_rules/try', { ...fields, window: { ...window, above: 0.1 } })
  assert.equal(tried.matches, 1)
  assert.equal(tried.examples[0].value, 0.4)
  const calls = await ok('/alert_rules/try', { on: 'call', query: failed, cooldown_seconds: 60 })
  assert.deepEqual([calls.matches, calls.messages, calls.is_complete], [3, 1, true])
  assert.equal((await send('DELETE', `/alert_rules/${rule.id}?project_id=${project}`)).status, 200)
})

test('finished runs and moved aliases are events, and a user without access sends nothing', async (t) => {
  const receiver = await startReceiver(t)
  const opened = await openAlerts(t)
  const { ok, post, send, stateOf, fail, failing, deliveries } = opened
  const types = ['object.alias_changed', 'evaluation_run.finished']
  await ok('/alert_endpoints', { name: 'e', url: receiver.url, types })
  const body = { obj: { project_id: project, object_id: 'greeting', val: { text: 'hello' } } }
  const { digest } = (await post('/obj/create', body)).json
  const named = { project_id: project, digest, aliases: ['prod'] }
  for (const _ of [1, 2]) assert.equal((await send('PUT', '/objs/greeting/aliases', named)).status, 200)
  await ok('/objs/greeting/aliases/remove', { aliases: ['prod'] })
  const { run } = evaluationRunsOf(opened)
  const id = await run()
  const finish = () => post(`/v2/${project}/evaluation_runs/${id}/finish`, {})
  for (const _ of [1, 2]) assert.equal((await finish()).status, 200)
  await until('all arrive', () => receiver.received.length === 3)
  const told = receiver.received.map((message) => JSON.parse(message.body))
  const aliases = told.filter(({ type }) => type === 'object.alias_changed').map(({ data }) => data)
  const change = { project_id: project, object_id: 'greeting', alias: 'prod' }
  assert.deepEqual(new Set(aliases.map(({ digest }) => digest)), new Set([digest, null]))
  for (const { digest: _digest, ...rest } of aliases) assert.deepEqual(rest, change)
  const finished = told.find(({ type }) => type === 'evaluation_run.finished')
  assert.deepEqual(finished.data, { project_id: project, run_id: id, exception: null })

  const { json: made } = await post('/users', { name: 'dave', entities: ['acme'] }, keys.root)
  const of = { project_id: project, name: 'of dave', url: receiver.url, types: ['alert.fired'] }
  const daves = (await post('/alert_endpoints', of, made.key.key)).json.endpoint.id
  const elsewhere = { grants: [{ scope: 'globex', role: 'editor' }] }
  assert.equal((await send('PUT', '/users/dave/grants', elsewhere, keys.root)).status, 200)
  await failing()
  await fail()
  await until('it is off', async () => !(await stateOf(daves)).active)
  assert.match((await stateOf(daves)).stopped, /^the user dave has no access/)
  await until('what waited is given up', async () => (await deliveries(daves))[0].state === 'dead')
  assert.equal(receiver.received.length, 3)
  const resumed = await send('PUT', `/alert_endpoints/${daves}`, { project_id: project, active: true })
  assert.equal(resumed.json.endpoint.stopped, null)
  assert.equal((await ok(`/alert_endpoints/${daves}/replay`, {})).replayed, 1)
  await until('it is sent as alice', () => receiver.received.length === 4)
})

test('metrics count what became of messages, and what waits', async (t) => {
  const answers: Record<string, number> = { '/sent': 200, '/gone': 410, '/late': 503 }
  const receiver = await startReceiver(t, ({ path }, response) =>
    response.writeHead(answers[path] ?? 404).end(),
  )
  // Tries again after many hours.
  const { get, endpoint, fail, failing } = await openAlerts(t, { webhooks: { haste: 0.001 } })
  const counted = async (): Promise<Record<string, number>> => {
    const { text } = await get('/metrics', keys.root)
    return Object.fromEntries(
      Array.from(text.matchAll(/^heddle_alert_deliveries_(total|waiting)(.*) (\d+)$/gm), (found) => [
        found[2] || found[1],
        Number(found[3]),
      ]),
    )
  }
  const outcome = (name: string) => `{outcome="${name}"}`
  const none = { [outcome('sent')]: 0, [outcome('failed')]: 0, [outcome('dead')]: 0, waiting: 0 }
  await until('nothing is counted', async () => 'waiting' in (await counted()))
  assert.deepEqual(await counted(), none)
  await failing()
  for (const path of Object.keys(answers))
    await endpoint({ url: receiver.url + path, types: ['alert.fired'] })
  await fail()
  await until('all are tried', async () => {
    const { waiting: _, ...tries } = await counted()
    return Object.values(tries).reduce((sum, count) => sum + count, 0) === 3
  })
  const { waiting: _, ...tries } = await counted()
  assert.deepEqual(tries, { [outcome('sent')]: 1, [outcome('failed')]: 1, [outcome('dead')]: 1 })
})

test('metrics know how many messages wait', async (t) => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  const receiver = await startReceiver(t, (_, response) => void answered.then(() => response.end()))
  const { get, endpoint, fail, failing } = await openAlerts(t)
  await failing()
  await endpoint({ url: receiver.url, types: ['alert.fired'] })
  for (let n = 0; n < 3; n++) await fail()
  const waiting = (count: number) =>
    until(`${count} wait`, async () =>
      (await get('/metrics', keys.root)).text.includes(`heddle_alert_deliveries_waiting ${count}\n`),
    )
  await waiting(3)
  await until('the first is on its way', () => receiver.received.length === 1)
  answer()
  await waiting(0)
})
