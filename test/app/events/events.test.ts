import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { hashKey } from '../../../src/domain/keys.ts'
import { basic, keys } from '../../support/app.ts'
import { completeOf, project } from '../../support/calls.ts'
import { openEvents, type SentEvent, serveApp } from '../../support/event-stream.ts'
import { openMemoryRecord } from '../../support/memory-record.ts'

// In memory: on PostgreSQL, whose notices have tests of their own, the first stream is told to read everything again.
const served = await serveApp({ after }, { database: openMemoryRecord() })
const { address, post, database } = served

const write = async (given: object = {}, of = project, key = keys.alice) => {
  const call = completeOf({ project_id: of, ...given })
  const { status, text } = await post(`/v2/${of}/calls/complete`, { batch: [call] }, key)
  assert.equal(status, 200, text)
  return call.id
}

const shown = (event: SentEvent | undefined) => {
  const { seq: _, ...data } = event?.data ?? {}
  return { name: event?.name, ...data }
}

test('401: events need credentials', async () => {
  const response = await fetch(`${address}/views/events`)
  assert.equal(response.status, 401)
  await response.body?.cancel()
})

test('403, 422: a project without access, and an invalid project', async () => {
  const ask = async (query: string) => {
    const response = await fetch(`${address}/views/events?${query}`, {
      headers: { authorization: basic(keys.alice) },
    })
    return [response.status, ((await response.json()) as { code: string }).code]
  }
  assert.deepEqual(await ask('project_id=globex%2Fqa'), [403, 'entity_forbidden'])
  assert.deepEqual(await ask('project_id=nothing'), [422, 'invalid_request'])
  assert.deepEqual(await ask('project=acme%2Fqa'), [422, 'invalid_request'])
})

test('405: HEAD has no stream', async () => {
  const response = await fetch(`${address}/views/events`, {
    method: 'HEAD',
    headers: { authorization: basic(keys.alice) },
  })
  assert.equal(response.status, 405)
})

test('a call, feedback about it and an item of a queue are events after they are written', async (t) => {
  const stream = await openEvents(t, address)
  const open = await stream.next()
  assert.equal(open?.name, 'open')
  const call = await write()
  const told = await stream.next()
  assert.deepEqual(shown(told), { name: 'change', project, kind: 'call', ids: [call] })
  assert.equal(told?.data.seq, open?.data.seq + 1)

  const weave_ref = `weave:///${project}/call/${call}`
  const reaction = {
    project_id: project,
    weave_ref,
    feedback_type: 'wandb.reaction.1',
    payload: { emoji: '👍' },
  }
  const { json: said } = await post('/feedback/create', reaction)
  assert.deepEqual(shown(await stream.next()), { name: 'change', project, kind: 'feedback', ids: [call] })
  const query = { $expr: { $eq: [{ $getField: 'id' }, { $literal: said.id }] } }
  await post('/feedback/purge', { project_id: project, query })
  assert.deepEqual(shown(await stream.next()), { name: 'change', project, kind: 'feedback', ids: [call] })

  const queue = await post('/annotation_queues', { project_id: project, name: 'one', scorer_refs: [] })
  const queue_id = queue.json.id
  assert.equal(queue.status, 200, queue.text)
  const added = await post(`/annotation_queues/${queue_id}/items`, {
    project_id: project,
    call_ids: [call],
    display_fields: [],
  })
  assert.equal(added.status, 200, added.text)
  const item = shown(await stream.next())
  assert.deepEqual(
    { ...item, ids: item.ids.length },
    { name: 'change', project, kind: 'item', queue_id, ids: 1 },
  )

  await post('/calls/delete', { project_id: project, call_ids: [call] })
  assert.deepEqual(shown(await stream.next()), { name: 'change', project, kind: 'call', ids: [call] })
})

test('writes within a moment are one event, which gives no ids beyond 500', async (t) => {
  const stream = await openEvents(t, address)
  await stream.next()
  const batch = Array.from({ length: 600 }, () => completeOf({}))
  await post(`/v2/${project}/calls/complete`, { batch })
  assert.deepEqual(shown(await stream.next()), { name: 'change', project, kind: 'call', ids: null })
})

test('P6: nobody gets events of projects without access', async (t) => {
  const [alice, bob, root] = [
    await openEvents(t, address),
    await openEvents(t, address, { key: keys.bob }),
    await openEvents(t, address, { key: keys.root }),
  ]
  for (const one of [alice, bob, root]) await one.next()
  const hers = await write()
  assert.deepEqual((await alice.next())?.data.ids, [hers])
  const his = await write({}, 'globex/qa', keys.bob)
  assert.deepEqual((await bob.next())?.data.ids, [his])
  const again = await write()
  assert.deepEqual((await alice.next())?.data.ids, [again])
  const all = [await root.next(), await root.next(), await root.next()]
  assert.deepEqual(
    all.map((event) => event?.data.ids[0]),
    [hers, his, again],
  )
})

test('a stream of one project has no events of another', async (t) => {
  const stream = await openEvents(t, address, { query: '?project_id=acme%2Fother' })
  await stream.next()
  await write()
  const call = await write({}, 'acme/other')
  assert.deepEqual(shown(await stream.next()).ids, [call])
})

test('a client that reconnects misses no event, or is told that events were missed', async (t) => {
  const stream = await openEvents(t, address)
  const open = await stream.next()
  const first = await write()
  assert.deepEqual((await stream.next())?.data.ids, [first])
  stream.close()
  const second = await write()
  const again = await openEvents(t, address, { after: open?.id as string })
  const reopened = await again.next()
  assert.equal(reopened?.name, 'open')
  // The same one twice would tell that nothing had happened in between, in any project.
  assert.notEqual(reopened?.id, open?.id)
  assert.deepEqual((await again.next())?.data.ids, [first])
  assert.deepEqual((await again.next())?.data.ids, [second])
  for (const id of ['another-run-7', 'nonsense', `${open?.id}999999`]) {
    const other = await openEvents(t, address, { after: id })
    assert.equal((await other.next())?.name, 'open')
    assert.equal((await other.next())?.name, 'resync')
  }
})

test('a revoked key gets no more events, and is told why', async (t) => {
  const [user, key] = [
    { name: 'dave', role: 'member' as const, entities: ['acme'], created_at: 1 },
    'the-secret-key-of-dave',
  ]
  await database.write('addUser', { user, key: { id: 'k-dave', hash: hashKey(key) } })
  const stream = await openEvents(t, address, { key })
  await stream.next()
  await database.write('revokeKey', { id: 'k-dave', now: 2 })
  const last = await stream.next()
  assert.deepEqual([last?.name, last?.data.code], ['end', 'wrong_credentials'])
  assert.equal(await stream.next(), undefined)
})

test('the number of streams of a user is bounded, and closing one makes room', async (t) => {
  const { address: other } = await serveApp(t)
  const streams = []
  for (let one = 0; one < 32; one++) streams.push(await openEvents(t, other))
  const ask = () =>
    fetch(`${other}/views/events`, { headers: { authorization: basic(keys.alice) } }).then(
      async (response) => {
        if (response.status !== 200) return ((await response.json()) as { code: string }).code
        await response.body?.cancel()
        return 'open'
      },
    )
  assert.equal(await ask(), 'too_many_streams')
  const others = await openEvents(t, other, { key: keys.bob })
  assert.equal((await others.next())?.name, 'open')
  streams[0]?.close()
  // The server notices a moment later.
  while ((await ask()) !== 'open') await new Promise((resolve) => setTimeout(resolve, 20))
})

test('streams do not count as requests at once', async (t) => {
  const settings = { requests_at_once: 1 }
  const user = { name: 'erin', role: 'member' as const, entities: ['acme'], created_at: 1 }
  const key = 'the-secret-key-of-erin'
  await database.write('addUser', { user, key: { id: 'k-erin', hash: hashKey(key) } })
  await database.write('changeUserSettings', { name: 'erin', change: settings, isConfigured: false, now: 2 })
  const stream = await openEvents(t, address, { key })
  assert.equal((await stream.next())?.name, 'open')
  assert.equal((await served.get('/me', key)).status, 200)
})

test('closing the server ends the streams', async (t) => {
  const other = await serveApp(t)
  const stream = await openEvents(t, other.address)
  await stream.next()
  await other.app.close()
  assert.equal(await stream.next(), undefined)
})
