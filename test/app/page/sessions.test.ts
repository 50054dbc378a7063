import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { newId } from '../../../src/domain/ids.ts'
import { hashKey } from '../../../src/domain/keys.ts'
import { keys, openApp } from '../../support/app.ts'

const { app, database } = await openApp({ after })

interface Session {
  cookie: string
  half: string
}

async function signIn(
  key: string,
  headers: Record<string, string> = {},
): Promise<Session & { flags: string }> {
  const answer = await app.inject({ method: 'POST', url: '/ui/session', headers, payload: { key } })
  assert.equal(answer.statusCode, 200, answer.body)
  const [cookie = '', ...flags] = String(answer.headers['set-cookie']).split('; ')
  return { cookie, half: answer.json().half, flags: flags.join('; ') }
}

function who({ cookie, half }: Partial<Session>, headers: Record<string, string> = {}) {
  return app.inject({
    method: 'GET',
    url: '/ui/session',
    headers: { ...(cookie && { cookie }), ...(half && { 'x-heddle-page': half }), ...headers },
  })
}

test('a key is exchanged for a session that no script can read and no other site can send', async () => {
  const { cookie, half, flags } = await signIn(keys.alice)
  assert.match(cookie, /^heddle_session=[\w-]{43}$/)
  assert.match(half, /^[\w-]{43}$/)
  assert.equal(flags, 'Path=/; HttpOnly; SameSite=Strict')
  const answer = await who({ cookie, half })
  assert.equal(answer.statusCode, 200)
  assert.deepEqual(
    { user: answer.json().user, role: answer.json().role, entities: answer.json().entities },
    { user: 'alice', role: 'member', entities: ['acme'] },
  )
})

test('neither half of a session works alone, nor with a half of another session', async () => {
  const [one, other] = [await signIn(keys.alice), await signIn(keys.alice)]
  for (const [given, code] of [
    [{ cookie: one.cookie }, 'not_authenticated'],
    [{ half: one.half }, 'not_authenticated'],
    [{ cookie: one.cookie, half: other.half }, 'session_ended'],
    [{ cookie: 'heddle_session=x', half: one.half }, 'session_ended'],
    [{ cookie: `heddle_session=${hashKey(one.cookie)}`, half: one.half }, 'session_ended'],
  ] as const) {
    const answer = await who(given)
    assert.deepEqual([answer.statusCode, answer.json().code], [401, code])
  }
})

test('a wrong key is a 401 for which no browser opens a dialog of its own', async () => {
  const payload = { key: 'wrong-key-that-nobody-has' }
  const headers = { 'x-heddle-page': 'none' }
  const answer = await app.inject({ method: 'POST', url: '/ui/session', headers, payload })
  assert.deepEqual([answer.statusCode, answer.json().code], [401, 'wrong_credentials'])
  assert.equal(answer.headers['www-authenticate'], 'Session realm="heddle"')
  assert.equal(answer.headers['set-cookie'], undefined)
  const program = await app.inject({ method: 'POST', url: '/ui/session', payload })
  assert.match(String(program.headers['www-authenticate']), /^Basic /)
})

test('a sign-in with an invalid key field is refused, and the field is named', async () => {
  for (const payload of [{}, { key: '' }, { key: 7 }, { key: 'x'.repeat(2_000) }]) {
    const answer = await app.inject({ method: 'POST', url: '/ui/session', payload })
    assert.equal(answer.statusCode, 422)
    assert.match(answer.json().reason, /key/)
  }
})

test('a sign-in without credentials accepts a key, but no long body', async () => {
  for (const length of [20_000, 200_000, 5_000_000]) {
    const answer = await app.inject({
      method: 'POST',
      url: '/ui/session',
      payload: { key: 'x'.repeat(length) },
    })
    assert.deepEqual([answer.statusCode, answer.json().code], [413, 'body_too_large'])
  }
})

test('a request from another site is refused, even with a valid session', async () => {
  const session = await signIn(keys.alice)
  const as = (headers: Record<string, string>) => who(session, headers)
  assert.equal((await as({ 'sec-fetch-site': 'same-origin' })).statusCode, 200)
  for (const site of ['cross-site', 'same-site']) {
    const answer = await as({ 'sec-fetch-site': site })
    assert.deepEqual([answer.statusCode, answer.json().code], [403, 'page_cross_site'])
  }
  const signOut = (headers: Record<string, string>) =>
    app.inject({
      method: 'DELETE',
      url: '/ui/session',
      headers: { cookie: session.cookie, 'x-heddle-page': session.half, host: 'here:8080', ...headers },
    })
  // Browsers that do not send sec-fetch-site send at least the origin of a change.
  assert.equal((await signOut({ origin: 'http://here:9090' })).statusCode, 403)
  assert.equal((await signOut({ origin: 'null' })).statusCode, 403)
  assert.equal((await signOut({ origin: 'http://here:8080' })).statusCode, 200)
})

test('a session ends when the user signs out', async () => {
  const session = await signIn(keys.alice)
  const headers = { cookie: session.cookie, 'x-heddle-page': session.half }
  const answer = await app.inject({ method: 'DELETE', url: '/ui/session', headers })
  assert.equal(answer.statusCode, 200)
  assert.match(String(answer.headers['set-cookie']), /^heddle_session=; Path=\/; .*Max-Age=0$/)
  assert.deepEqual((await who(session)).json().code, 'session_ended')
})

test('a session ends when its key is revoked', async () => {
  const key = 'a-key-that-is-revoked-later'
  const by = { via: 'command line' as const, name: 'test' }
  const id = newId()
  const user = { name: 'dora', role: 'member' as const, entities: ['acme'], created_at: 1 }
  await database.write('addUser', { user, key: { id, hash: hashKey(key) }, by })
  const session = await signIn(key)
  assert.equal((await who(session)).json().user, 'dora')
  await database.write('revokeKey', { id, now: 2, by })
  assert.deepEqual((await who(session)).json().code, 'session_ended')
})

test('an unused session expires, and using it extends it', async () => {
  const at = Date.now() * 1000
  const hour = 3_600_000_000
  const open = async (name: string, expires_at: number) => {
    const session = {
      hash: hashKey(name),
      half_hash: hashKey('half'),
      key_hash: hashKey(keys.alice),
      expires_at,
    }
    await database.write('openPageSession', { session, now: 0 })
    return { cookie: `heddle_session=${name}`, half: 'half' }
  }
  assert.equal((await who(await open('over', at - 1))).json().code, 'session_ended')
  const soon = await open('soon', at + hour)
  assert.equal((await who(soon)).statusCode, 200)
  // Using the session extended it beyond its original expiry.
  await database.write('openPageSession', {
    session: { hash: 'x', half_hash: 'x', key_hash: 'x', expires_at: at + 100 * hour },
    now: at + 2 * hour,
  })
  assert.equal((await who(soon)).statusCode, 200)
})

test('behind HTTPS the cookie is sent over HTTPS only', async () => {
  const { app: behind } = await openApp({ after }, { settings: { HEDDLE_TRUST_PROXY: '1' } })
  const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '203.0.113.7' }
  const answer = await behind.inject({
    method: 'POST',
    url: '/ui/session',
    headers,
    payload: { key: keys.bob },
  })
  assert.match(String(answer.headers['set-cookie']), /; Secure$/)
})

test('a session has access to the entities of its key and to nothing else', async () => {
  const { cookie, half } = await signIn(keys.bob)
  const ask = (project_id: string) =>
    app.inject({
      method: 'POST',
      url: '/calls/query_stats',
      headers: { cookie, 'x-heddle-page': half },
      payload: { project_id },
    })
  assert.equal((await ask('globex/qa')).statusCode, 200)
  assert.equal((await ask('acme/qa')).statusCode, 403)
})
