import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Database } from '../../../src/storage/database.ts'
import { keys, openApp } from '../../support/app.ts'
import { openAppRecord } from '../../support/app-record.ts'

const app = await openApp({ after })
const { get, post, send } = app

/** Creates a stored user; returns it with its first key. */
async function made(name: string, fields: object = {}) {
  const { status, json, text } = await post('/users', { name, entities: ['acme'], ...fields }, keys.root)
  assert.equal(status, 200, text)
  return json as { user: { name: string }; key: { id: string; key: string } }
}

const outcome = ({ status, json }: Awaited<ReturnType<typeof get>>) => [status, json?.code]

test('an admin adds a user, whose key works at once and is never shown again', async () => {
  const { user, key } = await made('carol', { role: 'admin', entities: ['acme', 'acme', 'globex'] })
  assert.deepEqual(user, {
    name: 'carol',
    role: 'admin',
    entities: ['acme', 'globex'],
    grants: [
      { scope: 'acme', role: 'admin' },
      { scope: 'globex', role: 'admin' },
    ],
    created_at: (user as { created_at?: string }).created_at,
    is_configured: false,
    settings: {},
  })
  assert.match(key.key, /^hdl_[\w-]{43}$/)
  assert.equal((await get('/me', key.key)).json.name, 'carol')
  const { text, json } = await get('/users', key.key)
  assert.ok(!text.includes(key.key))
  assert.deepEqual(
    json.users.map(({ name, is_configured }: { name: string; is_configured: boolean }) => [
      name,
      is_configured,
    ]),
    [
      ['alice', true],
      ['bob', true],
      ['carol', false],
      ['root', true],
    ],
  )
  assert.ok(!(await get('/keys?user=carol', keys.root)).text.includes(key.key))
})

test('members see and change only themselves', async () => {
  const dave = await made('dave')
  const erin = await made('erin')
  const own = dave.key.key
  for (const answer of [
    await get('/users', own),
    await post('/users', { name: 'mallory', role: 'admin', entities: ['*'] }, own),
    await send('DELETE', '/users/erin', undefined, own),
    await get('/keys?user=erin', own),
    await post('/keys', { user: 'erin' }, own),
  ]) {
    assert.deepEqual(outcome(answer), [403, 'role_forbidden'])
  }
  const foreign = await send('DELETE', `/keys/${erin.key.id}`, undefined, own)
  const unknown = await send('DELETE', '/keys/no-such-key', undefined, own)
  assert.deepEqual([outcome(foreign), outcome(unknown)], Array(2).fill([404, 'key_not_found']))
  assert.equal((await get('/me', erin.key.key)).status, 200)
})

test('every user creates and revokes their own keys, and a revoked key stops working at once', async () => {
  const { key } = await made('frank')
  const laptop = await post('/keys', { name: ' laptop ', record: 'off' }, key.key)
  assert.equal(laptop.status, 200, laptop.text)
  const listed = (await get('/keys', key.key)).json
  assert.deepEqual(
    [
      listed.user,
      listed.is_configured,
      listed.keys.map(({ name, record }: { name: string; record: string }) => [name, record]),
    ],
    [
      'frank',
      false,
      [
        [null, 'on'],
        ['laptop', 'off'],
      ],
    ],
  )
  assert.equal((await get('/me', laptop.json.key)).json.name, 'frank')
  assert.equal((await send('DELETE', `/keys/${laptop.json.id}`, undefined, key.key)).status, 200)
  assert.equal((await get('/me', laptop.json.key)).status, 401)
  const again = await send('DELETE', `/keys/${laptop.json.id}`, undefined, key.key)
  assert.deepEqual(outcome(again), [404, 'key_not_found'])
  assert.equal((await get('/keys', key.key)).json.keys[1].revoked_at === null, false)
})

test('an admin revokes the keys of other users and removes them, but not their own user', async () => {
  const { key } = await made('grace', { role: 'admin' })
  const heidi = await made('heidi')
  const second = await post('/keys', { user: 'heidi' }, key.key)
  assert.equal((await send('DELETE', `/keys/${heidi.key.id}`, undefined, key.key)).status, 200)
  assert.equal((await get('/me', heidi.key.key)).status, 401)
  assert.equal((await get('/me', second.json.key)).status, 200)
  assert.deepEqual(outcome(await send('DELETE', '/users/grace', undefined, key.key)), [409, 'own_user_stays'])
  assert.equal((await send('DELETE', '/users/heidi', undefined, key.key)).status, 200)
  assert.equal((await get('/me', second.json.key)).status, 401)
  assert.deepEqual(outcome(await send('DELETE', '/users/heidi', undefined, key.key)), [404, 'user_not_found'])
})

test('nobody grants more access than they have', async () => {
  const admin = (await made('mallory', { role: 'admin' })).key.key
  for (const entities of [['*'], ['acme', 'globex']]) {
    const answer = await post('/users', { name: 'accomplice', entities }, admin)
    assert.deepEqual(outcome(answer), [403, 'entity_forbidden'])
  }
  await made('mighty', { entities: ['*'] })
  assert.deepEqual(outcome(await post('/keys', { user: 'mighty' }, admin)), [403, 'entity_forbidden'])
  assert.equal((await post('/users', { name: 'helper', entities: ['acme'] }, admin)).status, 200)
  assert.equal((await post('/keys', { user: 'helper' }, admin)).status, 200)
})

test('a user of HEDDLE_USERS has no access to the keys of a stored user with the same name', async () => {
  const user = { name: 'bob', role: 'admin' as const, entities: ['*'], created_at: 1 }
  assert.ok(await app.database.write('addUser', { user, key: { id: 'key-of-other-bob', hash: 'x' } }))
  assert.deepEqual(outcome(await post('/keys', {}, keys.bob)), [409, 'user_configured'])
  assert.deepEqual((await get('/keys', keys.bob)).json.keys, [])
  const revoked = await send('DELETE', '/keys/key-of-other-bob', undefined, keys.bob)
  assert.deepEqual(outcome(revoked), [404, 'key_not_found'])
  assert.equal((await send('DELETE', '/users/bob', undefined, keys.root)).status, 200)
})

test('users of HEDDLE_USERS can only be changed there', async () => {
  assert.deepEqual(outcome(await post('/users', { name: 'alice', entities: ['*'] }, keys.root)), [
    409,
    'user_exists',
  ])
  assert.deepEqual(outcome(await post('/keys', {})), [409, 'user_configured'])
  assert.deepEqual(outcome(await send('DELETE', '/users/alice', undefined, keys.root)), [
    409,
    'user_configured',
  ])
  const { json } = await get('/keys')
  assert.deepEqual([json.is_configured, json.keys], [true, []])
})

test('an admin sets the limits of a user, removes one, and disables others but not itself', async () => {
  const { key } = await made('limited')
  const set = (name: string, body: object, as = keys.root) => send('PUT', `/users/${name}/settings`, body, as)
  const { json } = await set('limited', { requests_per_minute: 60, models: ['builtin'] })
  assert.deepEqual(json, { settings: { requests_per_minute: 60, models: ['builtin'] } })
  await set('limited', { models: null, requests_at_once: 2 })
  const limits = { requests_per_minute: 60, requests_at_once: 2 }
  assert.deepEqual((await get('/me', key.key)).json.settings, limits)
  assert.equal((await set('limited', { requests_per_minute: 0 })).status, 422)
  assert.deepEqual(outcome(await set('limited', {}, key.key)), [403, 'role_forbidden'])
  assert.deepEqual(outcome(await set('nobody', {})), [404, 'user_not_found'])
  assert.deepEqual(outcome(await set('root', { disabled: true })), [409, 'own_user_stays'])
  await set('limited', { disabled: true })
  assert.equal((await get('/me', key.key)).status, 401)
  const audit = await post('/audit/query', { action: 'user.set' }, keys.root)
  assert.equal(audit.json.entries.length, 3)
})

test('a disabled user of HEDDLE_USERS is refused from the first request on', async (t) => {
  const database = await openAppRecord()
  const change = { disabled: true as const }
  await database.write('changeUserSettings', { name: 'alice', change, isConfigured: true, now: 1 })
  const [reading, readSettings] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow: Database = {
    ...database,
    async get(query) {
      if (JSON.stringify(query).includes('user_settings')) {
        reading.resolve()
        await readSettings.promise
      }
      return database.get(query)
    },
  }
  const restarted = await openApp(t, { database: slow })
  const first = restarted.get('/me')
  await reading.promise
  const second = restarted.get('/me')
  // It is answered at once if it does not wait.
  await Promise.race([second, restarted.get('/health', 'no key')])
  readSettings.resolve()
  assert.deepEqual([(await first).status, (await second).status], [401, 401])
})

test('an invalid field is named', async () => {
  for (const [body, field] of [
    [{ name: 'api', entities: ['acme'] }, 'name'],
    [{ name: 'a b', entities: ['acme'] }, 'name'],
    [{ name: '..', entities: ['acme'] }, 'name'],
    [{ name: 'helper', entities: ['..'] }, 'entities'],
    [{ name: 'ivan' }, 'entities'],
    [{ name: 'ivan', entities: [] }, 'entities'],
    [{ name: 'ivan', entities: ['acme/qa'] }, 'entities'],
    [{ name: 'ivan', entities: ['acme'], role: 'owner' }, 'role'],
  ] as const) {
    const { status, json } = await post('/users', body, keys.root)
    assert.deepEqual([status, json.detail?.[0].loc[1]], [422, field], JSON.stringify(body))
  }
  assert.deepEqual(outcome(await get('/keys?user=nobody', keys.root)), [404, 'user_not_found'])
  assert.deepEqual(outcome(await post('/keys', { user: 'nobody' }, keys.root)), [404, 'user_not_found'])
})

test('a user has at most a hundred keys', async () => {
  const { key } = await made('judy')
  for (let made = 1; made < 100; made++) assert.equal((await post('/keys', {}, key.key)).status, 200)
  assert.deepEqual(outcome(await post('/keys', {}, key.key)), [409, 'too_many_keys'])
  assert.equal((await send('DELETE', `/keys/${key.id}`, undefined, keys.root)).status, 200)
  assert.equal((await post('/keys', { user: 'judy' }, keys.root)).status, 200)
})
