import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { readConfig } from '../../../src/config.ts'
import { readIssuers } from '../../../src/http/sign-in/issuers-file.ts'
import { basic, keys } from '../../support/app.ts'
import { newFolder, runHeddle, startServer } from '../../support/server.ts'
import { freePort, grants, issuersFile, serveWithIssuers } from './heddle.ts'
import { createBrowser, finishSignIn, signInThere, startProvider } from './real-provider.ts'

const good = { name: 'acme', issuer: 'https://id.example', client_id: 'heddle' }

test('a file with mistakes names each of them, and what would be accepted', async (t) => {
  const cases: [issuers: object[], wrong: RegExp][] = [
    [[], /issuers: given a list; accepted: a list of 1 to 16 issuers/],
    [[{ ...good, issuer: 'http://id.example' }], /issuers\[0\]\.issuer: .*http only on this machine/],
    [[{ ...good, issuer: 'https://id.example/.well-known/openid-configuration' }], /without \/\.well-known/],
    [[{ ...good, name: 'A b' }], /issuers\[0\]\.name: given "A b"; accepted: a short name/],
    [
      [good, { ...good, issuer: 'https://two.example' }],
      /issuers\[1\]\.name: given "acme"; accepted: a name that no/,
    ],
    [[good, { ...good, name: 'two' }], /issuers\[1\]\.issuer: .*each issuer once/],
    [[{ ...good, sign_up: true }], /issuers\[0\]\.grants: given nothing/],
    [[{ ...good, claim: 'roles' }], /issuers\[0\]\.claim: .*nothing without grants/],
    [[{ ...good, client_auth: 'post' }], /client_auth: given post; accepted: nothing without client_secret/],
    [[{ ...good, grants: ['staff=owner'] }], /grants\[0\]: given "staff=owner"; accepted: <value>=<role>/],
    [[{ ...good, grants: ['staff=editor@a b'] }], /grants\[0\]/],
    [[{ ...good, secret: 'x' }], /issuers\[0\]: given unknown fields secret; accepted: name, title/],
    [
      [{ ...good, client_secret: 'a secret in the file' }],
      /client_secret: given something else; accepted: \{"env"/,
    ],
    [
      [{ ...good, client_secret: { env: 'NO_SUCH_SECRET' } }],
      /environment variable NO_SUCH_SECRET that is empty/,
    ],
    [[{ ...good, client_secret: { file: 'nowhere' } }], /client_secret\.file: given .*nowhere, but/],
  ]
  for (const [issuers, wrong] of cases) {
    await assert.rejects(readIssuers(await issuersFile(t, issuers), {}), (error: Error) => {
      assert.match(error.message, wrong)
      assert.doesNotMatch(error.message, /a secret in the file/)
      return true
    })
  }
  const secret = join(await newFolder(t), 'secret')
  await writeFile(secret, 'from a file\n'.replaceAll(' ', '-'))
  const [read] = await readIssuers(await issuersFile(t, [{ ...good, client_secret: { file: secret } }]), {})
  assert.equal(read?.client_secret, 'from-a-file')
})

test('settings that leave nobody a way in, or no way back, do not start', async (t) => {
  const oidc = { HEDDLE_OIDC: 'oidc.json' }
  assert.throws(() => readConfig(oidc), /HEDDLE_PUBLIC_URL: given nothing together with HEDDLE_OIDC/)
  assert.throws(() => readConfig({ HEDDLE_KEY_SIGN_IN: 'off' }), /nobody could sign in to the page/)
  for (const url of [
    'heddle.example',
    'https://u:p@heddle.example',
    'https://heddle.example/?a=1',
    'ftp://a',
  ])
    assert.throws(() => readConfig({ ...oidc, HEDDLE_PUBLIC_URL: url }), /HEDDLE_PUBLIC_URL: expected/, url)
  assert.equal(
    readConfig({ ...oidc, HEDDLE_PUBLIC_URL: 'https://a.example/x/' }).public_url,
    'https://a.example/x',
  )
  const { code, err } = await runHeddle(['serve'], {
    HEDDLE_DATA: await newFolder(t),
    HEDDLE_OIDC: await issuersFile(t, [{ ...good, grants: ['*=king'] }]),
    HEDDLE_PUBLIC_URL: 'https://heddle.example',
  })
  assert.equal(code, 2)
  assert.match(err, /issuers\[0\]\.grants\[0\]: given "\*=king"/)
})

test('a server starts while its issuer is down, signs in once it is there, and logs no secret', async (t) => {
  const provider = await startProvider(t)
  await provider.stop()
  const port = await freePort()
  const address = `http://127.0.0.1:${port}`
  const issuers = [
    {
      name: 'acme',
      issuer: provider.issuer,
      client_id: provider.client.id,
      client_secret: { env: 'SECRET_OF_HEDDLE' },
      scopes: ['groups'],
      sign_up: true,
      grants,
    },
  ]
  process.env.SECRET_OF_HEDDLE = provider.client.secret
  const server = await startServer(t, {
    HEDDLE_DATA: await newFolder(t),
    HEDDLE_PORT: String(port),
    HEDDLE_LOG_LEVEL: 'trace',
    HEDDLE_OIDC: await issuersFile(t, issuers),
    HEDDLE_PUBLIC_URL: address,
    HEDDLE_KEY_SIGN_IN: 'off',
  })
  const start = `${address}/sign-in/acme`
  const down = await fetch(start, { redirect: 'manual' })
  assert.equal(down.status, 503)
  assert.match(await down.text(), /acme cannot be asked who you are: no connection \(ECONNREFUSED\)/)
  await provider.start()
  await provider.tell(address)
  provider.claims.set('anna', { preferred_username: 'anna', groups: ['staff'] })
  const browser = createBrowser()
  const callback = await signInThere(browser, start, 'anna')
  const { user, half, then } = await finishSignIn(browser, callback, address)
  assert.equal(user, 'anna')
  // Once more, for what is logged of answers that fail.
  await browser.open(callback)
  const init = { method: 'DELETE', headers: { 'x-heddle-page': half } }
  const ended = (await (await browser.open(`${address}/ui/session`, init)).json()) as { continue_at: string }
  const secrets = {
    code: callback.searchParams.get('code'),
    state: callback.searchParams.get('state'),
    ticket: then.hash.split('=')[1],
    half,
    'ID token': new URL(ended.continue_at).searchParams.get('id_token_hint'),
    secret: provider.client.secret,
  }
  await server.end('SIGTERM')
  const log = server.log.join('\n')
  assert.match(log, /\/sign-in\/acme\/callback/)
  for (const [what, secret] of Object.entries(secrets)) {
    assert.ok(secret, what)
    assert.ok(!log.includes(secret), `the log has the ${what}`)
  }
})

test('programs send keys also where people may not sign in with them', async (t) => {
  const { app, address } = await serveWithIssuers(t, [good], { settings: { HEDDLE_KEY_SIGN_IN: 'off' } })
  const answer = await app.inject({ method: 'POST', url: '/ui/session', payload: { key: keys.alice } })
  assert.deepEqual([answer.statusCode, answer.json().code], [403, 'key_sign_in_off'])
  for (const authorization of [basic(keys.alice), `Bearer ${keys.alice}`])
    assert.equal((await fetch(`${address}/me`, { headers: { authorization } })).status, 200)
  assert.deepEqual((await (await fetch(`${address}/ui/issuers`)).json()) as object, {
    keys: false,
    issuers: [{ name: 'acme', title: 'acme' }],
  })
})
