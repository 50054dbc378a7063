import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { boundTo } from '../../../src/storage/transaction.ts'
import { keys } from '../../support/app.ts'
import { until } from '../../support/wait.ts'
import { grants, serveWithIssuers } from './heddle.ts'
import { createBrowser, finishSignIn, signInThere, startProvider, type TestBrowser } from './real-provider.ts'

process.env.SECRET_OF_HEDDLE = 'the-secret-of-heddle-there'

const provider = await startProvider({ after })
const acme = {
  name: 'acme',
  title: 'Acme',
  issuer: provider.issuer,
  client_id: provider.client.id,
  client_secret: { env: 'SECRET_OF_HEDDLE' },
  scopes: ['groups'],
  sign_up: true,
  grants,
}
const heddle = await serveWithIssuers({ after }, [acme])
await provider.tell(heddle.publicUrl)
provider.claims.set('anna', { preferred_username: 'anna', email: 'a@acme.example', groups: ['staff'] })
provider.claims.set('otto', { preferred_username: 'otto', groups: ['ops'] })

const start = `${heddle.publicUrl}/sign-in/acme`

async function signIn(login: string, browser = createBrowser(), from = start) {
  const callback = await signInThere(browser, from, login)
  return { browser, callback, ...(await finishSignIn(browser, callback, heddle.address)) }
}

const ask = (browser: TestBrowser, half: string, path = '/ui/session', init: RequestInit = {}) =>
  browser.open(`${heddle.address}${path}`, { ...init, headers: { 'x-heddle-page': half, ...init.headers } })

async function audited(action: string): Promise<Record<string, unknown>[]> {
  const found: Record<string, unknown>[] = []
  const { streamAudit } = await import('../../../src/storage/users/audit.ts')
  const times = { from: 0, until: Number.MAX_SAFE_INTEGER }
  for await (const rows of streamAudit(boundTo(heddle.database, new AbortController().signal), times))
    found.push(...rows.filter((row) => row.action === action).map((row) => JSON.parse(row.details)))
  return found
}

test('the page is told how to sign in', async () => {
  const answer = await fetch(`${heddle.address}/ui/issuers`)
  assert.deepEqual(await answer.json(), { keys: true, issuers: [{ name: 'acme', title: 'Acme' }] })
})

test('somebody signs in, becomes a user with what the groups say, and comes back to where it was', async () => {
  const { browser, half, user, then } = await signIn(
    'anna',
    createBrowser(),
    `${start}?return=/ui/acme/qa%3Fq=1`,
  )
  assert.equal(user, 'anna')
  assert.equal(`${then.pathname}${then.search}`, '/ui/acme/qa?q=1')
  const who = (await (await ask(browser, half)).json()) as Record<string, unknown>
  assert.deepEqual([who.user, who.role, who.entities], ['anna', 'member', ['acme']])
  const query = (project_id: string) =>
    ask(browser, half, '/calls/query_stats', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ project_id }),
    })
  assert.equal((await query('acme/qa')).status, 200)
  assert.equal((await query('globex/qa')).status, 403)
  const [entry] = await audited('sign_in')
  assert.deepEqual([entry?.user, entry?.values, entry?.subject], ['anna', ['staff'], 'anna'])
  const again = await signIn('anna')
  assert.equal(again.user, 'anna')
  assert.equal(
    (await heddle.get('/users', keys.root)).json.users.filter((u: { name: string }) => u.name === 'anna')
      .length,
    1,
  )
})

test('somebody whose first sign-ins come together is one user', async () => {
  provider.claims.set('zoe', { preferred_username: 'zoe', groups: ['staff'] })
  const sessions = await Promise.all([signIn('zoe'), signIn('zoe'), signIn('zoe')])
  assert.deepEqual(
    sessions.map(({ user }) => user),
    ['zoe', 'zoe', 'zoe'],
  )
})

test('a role falls with the next sign-in', async () => {
  const first = await signIn('otto')
  const role = async ({ browser, half }: { browser: TestBrowser; half: string }) =>
    ((await (await ask(browser, half)).json()) as { role: string }).role
  assert.equal(await role(first), 'admin')
  provider.claims.set('otto', { preferred_username: 'otto', groups: ['staff'] })
  await signIn('otto')
  assert.equal(await role(first), 'member')
  provider.claims.set('otto', { preferred_username: 'otto', groups: ['ops'] })
})

test('who signs out here is led to the provider, which forgets the sign-in, too', async () => {
  const { browser, half } = await signIn('anna')
  const answer = await ask(browser, half, '/ui/session', { method: 'DELETE' })
  const { continue_at } = (await answer.json()) as { continue_at: string }
  assert.equal((await ask(browser, half)).status, 401)
  const url = new URL(continue_at)
  assert.equal(url.origin, provider.issuer)
  assert.equal(url.searchParams.get('post_logout_redirect_uri'), `${heddle.publicUrl}/`)
  const page = await (await browser.open(url)).text()
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? ''
  const confirm = new URL('/session/end/confirm', provider.issuer)
  const body = new URLSearchParams({ xsrf, logout: 'yes' })
  const ended = await browser.follow(
    await browser.open(confirm, { method: 'POST', body }),
    confirm,
    (at) => at.origin === heddle.address,
  )
  assert.equal(ended.pathname, '/')
  const form = await browser.follow(await browser.open(start), start, (at) =>
    at.pathname.includes('/interaction/'),
  )
  assert.match(await (await browser.open(form)).text(), /name="login"/)
})

test('who signs out at the provider is signed out here', async () => {
  const { browser, half } = await signIn('anna')
  const other = await signIn('otto')
  const sent = provider.logoutsSent
  const url = new URL('/session/end', provider.issuer)
  const page = await (await browser.open(url)).text()
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(page)?.[1] ?? ''
  const body = new URLSearchParams({ xsrf, logout: 'yes' })
  await browser.open(new URL('/session/end/confirm', provider.issuer), { method: 'POST', body })
  await until('the provider has told it', () => provider.logoutsSent > sent)
  assert.equal((await ask(browser, half)).status, 401)
  assert.equal((await ask(other.browser, other.half)).status, 200)
})

test('a callback belongs to the browser that began it, and is finished once', async () => {
  const browser = createBrowser()
  const callback = await signInThere(browser, start, 'anna')
  const stranger = await createBrowser().open(callback)
  assert.equal(stranger.status, 400)
  assert.match(await stranger.text(), /this browser has not begun it/)
  const another = createBrowser()
  await another.open(start)
  assert.equal((await another.open(callback)).status, 400)
  const cookies = new Map(browser.cookies)
  await finishSignIn(browser, callback, heddle.address)
  assert.equal((await browser.open(callback)).status, 400)
  // Also for a client that keeps the cookie: the provider takes a code once.
  for (const [name, cookie] of cookies) browser.cookies.set(name, cookie)
  const twice = await browser.open(callback)
  assert.equal(twice.status, 400)
  assert.match(await twice.text(), /it says invalid_grant/)
})

test('a sign-in ends after ten minutes', async (t) => {
  const browser = createBrowser()
  const callback = await signInThere(browser, start, 'anna')
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 601_000 })
  const late = await browser.open(callback)
  assert.equal(late.status, 400)
  assert.match(await late.text(), /ten minutes/)
})

test('several tabs sign in at once', async () => {
  const browser = createBrowser()
  const first = await signInThere(browser, start, 'anna')
  const second = await signInThere(browser, start, 'anna')
  assert.equal((await finishSignIn(browser, second, heddle.address)).user, 'anna')
  assert.equal((await finishSignIn(browser, first, heddle.address)).user, 'anna')
})

test('a ticket is exchanged once, by its browser', async () => {
  const browser = createBrowser()
  const callback = await signInThere(browser, start, 'anna')
  const location = new URL((await browser.open(callback)).headers.get('location') ?? '')
  const ticket = location.hash.slice('#ticket='.length)
  const exchange = (by: TestBrowser) =>
    by.open(`${heddle.address}/ui/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ticket }),
    })
  assert.equal((await exchange(createBrowser())).status, 401)
  // The ticket is no half.
  assert.equal((await ask(browser, ticket)).status, 401)
  assert.equal((await exchange(browser)).status, 200)
  assert.equal((await exchange(browser)).status, 401)
})

test('the page goes only to its own paths', async () => {
  for (const path of [
    '//evil.example',
    '/\\evil.example',
    'https://evil.example',
    '\\\\evil',
    '/a b',
    '/\t/evil',
  ]) {
    const answer = await fetch(`${start}?return=${encodeURIComponent(path)}`, { redirect: 'manual' })
    assert.equal(answer.status, 422, path)
    assert.match(await answer.text(), /return/)
  }
  assert.equal((await fetch(`${heddle.address}/sign-in/nobody`, { redirect: 'manual' })).status, 404)
})

test('who declines at the provider reads so here', async () => {
  const browser = createBrowser()
  const state =
    new URL((await browser.open(start)).headers.get('location') ?? '').searchParams.get('state') ?? ''
  const answer = await browser.open(
    `${start}/callback?${new URLSearchParams({ error: 'access_denied', state, iss: provider.issuer })}`,
  )
  assert.equal(answer.status, 400)
  assert.match(await answer.text(), /it says access_denied/)
})

test('nobody without a role, and nobody whose groups were left out, signs in', async () => {
  provider.claims.set('nora', { preferred_username: 'nora', groups: ['visitors'] })
  provider.claims.set('omar', {
    preferred_username: 'omar',
    _claim_names: { groups: 'src1' },
    _claim_sources: { src1: { endpoint: 'https://graph.example/omar' } },
  })
  for (const [login, why] of [
    ['nora', /nothing in groups gives you a role/],
    ['omar', /too many/],
  ] as const) {
    const browser = createBrowser()
    const answer = await browser.open(await signInThere(browser, start, login))
    assert.equal(answer.status, 403)
    assert.match(await answer.text(), why)
  }
  const refused = await audited('sign_in.refused')
  assert.deepEqual(refused.map(({ subject }) => subject).sort(), ['nora', 'omar'])
  assert.deepEqual(refused.find(({ subject }) => subject === 'nora')?.values, ['visitors'])
})

test('an admin with too many groups stays one, and is not signed in as less', async () => {
  const { browser, half } = await signIn('otto')
  provider.claims.set('otto', { preferred_username: 'otto', _claim_names: { groups: 'src1' } })
  const again = createBrowser()
  assert.equal((await again.open(await signInThere(again, start, 'otto'))).status, 403)
  assert.equal(((await (await ask(browser, half)).json()) as { role: string }).role, 'admin')
  provider.claims.set('otto', { preferred_username: 'otto', groups: ['ops'] })
})

test('an address or a name that somebody else has makes nobody that person', async () => {
  const anna = await signIn('anna')
  provider.claims.set('mallory', { preferred_username: 'anna', email: 'a@acme.example', groups: ['staff'] })
  provider.claims.set('eve', { preferred_username: 'root', groups: ['staff'] })
  const { user } = await signIn('mallory')
  assert.match(user, /^anna-[0-9a-f]{8}$/)
  assert.match((await signIn('eve')).user, /^root-[0-9a-f]{8}$/)
  const who = (await (await ask(anna.browser, anna.half)).json()) as { user: string }
  assert.equal(who.user, 'anna')
})

test('a user that is disabled is out at once, whatever the provider says', async () => {
  provider.claims.set('dan', { preferred_username: 'dan', groups: ['staff'] })
  const { browser, half } = await signIn('dan')
  const made = await ask(browser, half, '/keys', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  })
  const { key } = (await made.json()) as { key: string }
  assert.equal((await heddle.get('/ui/session', key)).status, 200)
  const set = (disabled: true | null) =>
    heddle.database.write('changeUserSettings', {
      name: 'dan',
      change: { disabled },
      isConfigured: false,
      now: 1,
    })
  await set(true)
  assert.equal((await ask(browser, half)).status, 401)
  assert.equal((await heddle.get('/ui/session', key)).status, 401)
  const again = createBrowser()
  const refused = await again.open(await signInThere(again, start, 'dan'))
  assert.equal(refused.status, 403)
  assert.match(await refused.text(), /your user is disabled/)
  await set(null)
  assert.equal((await ask(browser, half)).status, 200)
})

test('a removed user has no session; the next sign-in makes a new user', async () => {
  provider.claims.set('rita', { preferred_username: 'rita', groups: ['staff'] })
  const { browser, half } = await signIn('rita')
  assert.equal((await heddle.send('DELETE', '/users/rita', undefined, keys.root)).status, 200)
  assert.equal((await ask(browser, half)).status, 401)
  assert.equal((await signIn('rita')).user, 'rita')
  assert.equal((await ask(browser, half)).status, 401)
})

test('while the provider is down, who is signed in stays, and others read why they cannot', async () => {
  const { browser, half } = await signIn('anna')
  const other = createBrowser()
  const callback = await signInThere(other, start, 'otto')
  await provider.stop()
  assert.equal((await ask(browser, half)).status, 200)
  const answer = await other.open(callback)
  assert.equal(answer.status, 503)
  assert.match(await answer.text(), /Acme cannot be asked who you are/)
  const signedOut = await ask(browser, half, '/ui/session', { method: 'DELETE' })
  assert.equal(signedOut.status, 200)
  assert.equal((await ask(browser, half)).status, 401)
  await provider.start()
  assert.equal((await signIn('anna')).user, 'anna')
})
