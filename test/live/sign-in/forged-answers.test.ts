import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { exportSPKI, SignJWT, UnsecuredJWT } from 'jose'
import { newSigningKey, startForgedIssuer } from './forged-issuer.ts'
import { grants, serveWithIssuers } from './heddle.ts'
import { createBrowser } from './real-provider.ts'

const forged = await startForgedIssuer({ after })
const other = await startForgedIssuer({ after })
const common = { client_id: 'heddle', audience: 'https://heddle.example', sign_up: true, grants }
const heddle = await serveWithIssuers({ after }, [
  { ...common, name: 'acme', issuer: forged.issuer },
  { ...common, name: 'other', issuer: other.issuer },
])

const seconds = () => Math.floor(Date.now() / 1000)

/** Begins a sign-in and returns the callback that an honest issuer would lead to, with its nonce. */
async function begin(name = 'acme', { issuer } = forged) {
  const browser = createBrowser()
  const location = (await browser.open(`${heddle.address}/sign-in/${name}`)).headers.get('location') ?? ''
  const { searchParams } = new URL(location)
  const [nonce, state] = [searchParams.get('nonce') ?? '', searchParams.get('state') ?? '']
  assert.equal(searchParams.get('code_challenge_method'), 'S256')
  const callback = (changes: Record<string, string> = {}, to = name) =>
    `${heddle.address}/sign-in/${to}/callback?${new URLSearchParams({ code: 'c', state, iss: issuer, ...changes })}`
  const claims = {
    iss: issuer,
    aud: 'heddle',
    sub: 'anna',
    nonce,
    iat: seconds(),
    exp: seconds() + 60,
    preferred_username: 'anna',
    groups: ['staff'],
  }
  return { browser, callback, claims, nonce, state }
}

test('an honest answer signs in', async () => {
  const { browser, callback, claims } = await begin()
  forged.idToken = await forged.sign(claims)
  assert.equal((await browser.open(callback())).status, 303)
})

test('an ID token of another issuer, client, sign-in or time is refused', async () => {
  for (const [what, change] of [
    ['issuer', { iss: other.issuer }],
    ['audience', { aud: 'somebody-else' }],
    ['nonce', { nonce: 'of another sign-in' }],
    ['no nonce', { nonce: undefined }],
    ['expired', { exp: seconds() - 120 }],
    ['of tomorrow', { nbf: seconds() + 86_400 }],
    ['no subject', { sub: undefined }],
  ] as const) {
    const { browser, callback, claims } = await begin()
    forged.idToken = await forged.sign({ ...claims, ...change })
    const answer = await browser.open(callback())
    assert.equal(answer.status, 400, what)
    assert.match(await answer.text(), /did not succeed/)
    assert.doesNotMatch(answer.headers.getSetCookie().join(), /heddle_session/)
  }
})

test('an ID token with another signature or algorithm is refused', async () => {
  const stranger = await newSigningKey('first')
  const secret = new TextEncoder().encode(await exportSPKI(forged.key.public))
  const tokens: Record<string, (claims: Record<string, unknown>) => Promise<string> | string> = {
    'another key': (claims) => forged.sign(claims, {}, stranger.private),
    HS256: (claims) => new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'first' }).sign(secret),
    none: (claims) => new UnsecuredJWT(claims).encode(),
  }
  for (const [what, sign] of Object.entries(tokens)) {
    const { browser, callback, claims } = await begin()
    forged.idToken = await sign(claims)
    assert.equal((await browser.open(callback())).status, 400, what)
  }
})

test('answers that were mixed up are refused', async () => {
  const { browser, callback, claims } = await begin()
  forged.idToken = other.idToken = await forged.sign(claims)
  assert.equal((await browser.open(callback({ iss: other.issuer }))).status, 400)
  const second = await begin()
  // The other issuer's callback, with the state of this one.
  assert.equal((await second.browser.open(second.callback({}, 'other'))).status, 400)
  const third = await begin()
  assert.equal((await third.browser.open(third.callback({ state: 'x'.repeat(43) }))).status, 400)
})

const access = (changes: Record<string, unknown> = {}) => ({
  iss: forged.issuer,
  aud: 'https://heddle.example',
  sub: 'program-7',
  exp: seconds() + 60,
  groups: ['staff'],
  ...changes,
})

const ask = (token: string, path = '/ui/session') =>
  fetch(`${heddle.address}${path}`, { headers: { authorization: `Bearer ${token}` } })

async function refused(token: string, status = 401): Promise<{ code: string; reason: string }> {
  const answer = await ask(token)
  assert.equal(answer.status, status)
  return (await answer.json()) as { code: string; reason: string }
}

test('an access token of the issuer is a credential, with what it says of groups', async () => {
  const answer = await ask(await forged.sign(access(), { typ: 'at+jwt' }))
  assert.equal(answer.status, 200)
  const { user, entities } = (await answer.json()) as Record<string, unknown>
  assert.deepEqual([user, entities], ['user', ['acme']])
  const asAdmin = await ask(await forged.sign(access({ groups: ['ops'] })))
  assert.equal(((await asAdmin.json()) as { role: string }).role, 'admin')
  // An older token changes nothing for later ones without the claim.
  const without = await ask(await forged.sign(access({ groups: undefined })))
  assert.equal(((await without.json()) as { role: string }).role, 'member')
})

test('a token makes nothing that outlives it: no key, no user and no grant', async () => {
  const token = await forged.sign(access({ groups: ['ops'] }))
  for (const [method, path, body] of [
    ['POST', '/keys', {}],
    ['POST', '/invitations', { grants: [{ scope: 'acme', role: 'viewer' }] }],
    ['POST', '/users', { name: 'later', entities: ['acme'] }],
    ['PUT', '/users/somebody/grants', { grants: [{ scope: 'acme', role: 'viewer' }] }],
  ] as const) {
    const answer = await fetch(`${heddle.address}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const { code } = (await answer.json()) as { code: string }
    assert.deepEqual([answer.status, code], [403, 'scope_forbidden'])
  }
})

test('a token for another audience, issuer, time or use is refused, and says why', async () => {
  const cases: [Record<string, unknown>, RegExp, string?][] = [
    [{ aud: 'heddle' }, /aud/],
    [{ aud: undefined }, /aud/],
    [{ exp: seconds() - 120 }, /expired/],
    [{ exp: undefined }, /exp/],
    [{ nbf: seconds() + 3_600 }, /nbf/],
    [{ sub: undefined }, /sub/],
    [{ iss: 'https://nobody.example' }, /not known here/],
    [{ nonce: 'n' }, /no access token/],
    [{ events: {} }, /no access token/],
    [{}, /no access token/, 'logout+jwt'],
  ]
  for (const [change, why, typ] of cases) {
    const { code, reason } = await refused(await forged.sign(access(change), typ ? { typ } : {}))
    assert.equal(code, 'wrong_token')
    assert.match(reason, why)
  }
  const noRole = await refused(await forged.sign(access({ sub: 'program-8', groups: ['visitors'] })), 403)
  assert.equal(noRole.code, 'sign_in_forbidden')
})

test('a token is signed with a key of its issuer, and with no other algorithm', async () => {
  const secret = new TextEncoder().encode(await exportSPKI(forged.key.public))
  const hmac = new SignJWT(access()).setProtectedHeader({ alg: 'HS256', kid: 'first' })
  assert.match((await refused(await hmac.sign(secret))).reason, /algorithm|key/)
  assert.match((await refused(new UnsecuredJWT(access()).encode())).reason, /signature|algorithm|ERR_JW/)
  const stranger = await newSigningKey('first')
  assert.match((await refused(await forged.sign(access(), {}, stranger.private))).reason, /signature/)
  // Signed well, by an issuer that is trusted, too.
  assert.match((await refused(await forged.sign(access({ iss: other.issuer })))).reason, /signature/)
})

const logout = (changes: Record<string, unknown> = {}) => ({
  iss: forged.issuer,
  aud: 'heddle',
  iat: seconds(),
  exp: seconds() + 120,
  jti: crypto.randomUUID(),
  sid: 'a session there',
  events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
  ...changes,
})

async function sendLogout(token: string, name = 'acme') {
  const body = new URLSearchParams({ logout_token: token })
  const answer = await fetch(`${heddle.address}/sign-in/${name}/logout`, { method: 'POST', body })
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  return answer
}

async function openSession(claims: Record<string, unknown>) {
  const begun = await begin()
  forged.idToken = await forged.sign({ ...begun.claims, ...claims })
  const location = (await begun.browser.open(begun.callback())).headers.get('location') ?? ''
  const answer = await begun.browser.open(`${heddle.address}/ui/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ticket: location.split('#ticket=')[1] }),
  })
  const { half } = (await answer.json()) as { half: string }
  return async () =>
    (await begun.browser.open(`${heddle.address}/ui/session`, { headers: { 'x-heddle-page': half } })).status
}

test('a logout token ends the session that it names, or all of its person', async () => {
  const [first, second] = [await openSession({ sid: 'one' }), await openSession({ sid: 'two' })]
  const typ = 'logout+jwt'
  assert.equal((await sendLogout(await forged.sign(logout({ sid: 'unknown' }), { typ }))).status, 200)
  assert.deepEqual([await first(), await second()], [200, 200])
  const token = await forged.sign(logout({ sid: 'one', sub: 'anna' }), { typ })
  assert.equal((await sendLogout(token)).status, 200)
  assert.deepEqual([await first(), await second()], [401, 200])
  const replayed = await sendLogout(token)
  assert.equal(replayed.status, 400)
  assert.match(await replayed.text(), /used before/)
  assert.equal(
    (await sendLogout(await forged.sign(logout({ sid: undefined, sub: 'anna' }), { typ }))).status,
    200,
  )
  assert.equal(await second(), 401)
})

test('a logout token that is wrong ends nothing', async () => {
  const isOpen = await openSession({ sid: 'a session there' })
  const stranger = await newSigningKey('first')
  for (const [token, why] of [
    [await forged.sign(logout({ nonce: 'n' })), /nonce/],
    [await forged.sign(logout({ aud: 'somebody-else' })), /aud/],
    [await forged.sign(logout({ iss: other.issuer })), /iss/],
    [await forged.sign(logout({ events: { other: {} } })), /another event/],
    [await forged.sign(logout({ events: undefined })), /events/],
    [await forged.sign(logout({ jti: undefined })), /jti/],
    [await forged.sign(logout({ exp: seconds() - 120 })), /expired/],
    [await forged.sign(logout({ sid: undefined })), /neither/],
    [await forged.sign(logout(), { typ: 'at+jwt' }), /type/],
    [await forged.sign(logout(), {}, stranger.private), /signature/],
    [new UnsecuredJWT(logout()).encode(), /./],
    ['no token', /./],
  ] as const) {
    const answer = await sendLogout(token)
    const { code, reason } = (await answer.json()) as { code: string; reason: string }
    assert.deepEqual([answer.status, code], [400, 'wrong_logout_token'], reason)
    assert.match(reason, why)
  }
  assert.equal(await isOpen(), 200)
  assert.equal((await fetch(`${heddle.address}/sign-in/acme/logout`, { method: 'POST' })).status, 400)
})

test('a key that the issuer has just made is found, and keys that cannot be read are a 503', async (t) => {
  const fresh = await newSigningKey('second')
  forged.keys = [forged.key.jwk, fresh.jwk]
  // Unknown keys are not asked for more than every half minute.
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 31_000 })
  const asked = forged.keysAsked
  assert.equal((await ask(await forged.sign(access(), { kid: 'second' }, fresh.private))).status, 200)
  assert.equal(forged.keysAsked, asked + 1)
  assert.match((await refused(await forged.sign(access(), { kid: 'third' }))).reason, /no such key/)
  assert.equal(forged.keysAsked, asked + 1)
  forged.keys = undefined
  t.mock.timers.tick(3_600_000)
  const { code } = await refused(await forged.sign(access()), 503)
  assert.equal(code, 'provider_unavailable')
  forged.keys = [forged.key.jwk]
  assert.equal((await ask(await forged.sign(access()))).status, 200)
})
