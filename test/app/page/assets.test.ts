import assert from 'node:assert/strict'
import { readdirSync, statSync } from 'node:fs'
import { after, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { basic, keys, openApp } from '../../support/app.ts'
import { buildPage } from '../../support/built-page.ts'

buildPage()
const { app } = await openApp({ after })
const get = (url: string, headers: Record<string, string> = {}) => app.inject({ method: 'GET', url, headers })

test('a browser gets the page at once, without a redirect', async () => {
  for (const url of ['/', '/ui', '/ui/', '/ui/acme/qa/calls?peek=1', '/ui/acme/qa/trace/t?call=c']) {
    const { statusCode, headers, body } = await get(url)
    assert.equal(statusCode, 200, url)
    assert.equal(headers['content-type'], 'text/html; charset=utf-8')
    assert.equal(headers['cache-control'], 'no-cache')
    assert.match(body, /<script type="module" src="\/ui\/main-\w+\.js">/)
  }
})

test('P6: a link to a call gives the same answer for every id, with and without credentials', async () => {
  const { body } = await get('/')
  for (const url of [
    '/acme/qa/r/call/x',
    '/globex/secret/r/call/y',
    '/acme/qa/weave',
    '/acme/qa/weave/calls/z',
  ]) {
    for (const headers of [{}, { authorization: basic(keys.alice) }, { authorization: 'Basic !!!' }]) {
      const answer = await get(url, headers as Record<string, string>)
      assert.deepEqual([answer.statusCode, answer.body], [200, body], url)
    }
  }
})

test('every file that the page loads comes from this server, under /ui/', async () => {
  const { body } = await get('/')
  const names = [...body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name = '']) => name)
  assert.deepEqual(names.map((name) => name.replace(/^\/ui\/(\w+).*\.(\w+)$/, '$1.$2')).sort(), [
    'c.js',
    'icon.svg',
    'main.js',
    'page.css',
  ])
  for (const name of names) {
    const { statusCode, headers } = await get(name)
    assert.equal(statusCode, 200, name)
    assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
  }
})

test('the icon that browsers ask for beside JSON needs no key', async () => {
  const { statusCode, headers } = await get('/favicon.ico')
  assert.deepEqual([statusCode, headers.location], [302, '/ui/icon.svg'])
})

test('the compressed and the plain form of a file have the same content', async () => {
  const { body } = await get('/')
  const [, script = ''] = /src="([^"]+)"/.exec(body) ?? []
  const plain = await get(script)
  assert.equal(plain.headers['content-encoding'], undefined)
  const forms = { br: brotliDecompressSync, gzip: gunzipSync }
  for (const [coding, read] of Object.entries(forms)) {
    const answer = await get(script, { 'accept-encoding': coding })
    assert.equal(answer.headers['content-encoding'], coding)
    assert.equal(read(answer.rawPayload).toString(), plain.body)
  }
  assert.equal((await get(script, { 'accept-encoding': 'gzip, br' })).headers['content-encoding'], 'br')
  assert.equal(
    (await get(script, { 'accept-encoding': 'br;q=0, gzip;q=0.5' })).headers['content-encoding'],
    'gzip',
  )
  const same = await get(script, { 'if-none-match': String(plain.headers.etag) })
  assert.deepEqual([same.statusCode, same.body], [304, ''])
})

test('the page runs only its own scripts, and creates no HTML from strings', async () => {
  const { headers } = await get('/')
  const policy = new Map(
    String(headers['content-security-policy'])
      .split('; ')
      .map((one): [string, string] => [one.slice(0, one.indexOf(' ')), one.slice(one.indexOf(' ') + 1)]),
  )
  assert.equal(policy.get('default-src'), "'none'")
  assert.equal(policy.get('script-src'), "'self'")
  assert.equal(policy.get('connect-src'), "'self'")
  assert.equal(policy.get('require-trusted-types-for'), "'script'")
  assert.equal(policy.get('frame-ancestors'), "'none'")
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.equal(headers['referrer-policy'], 'no-referrer')
})

test('no other file is served', async () => {
  for (const url of ['/ui/main.js', '/ui/../package.json', '/ui/..%2f..%2fpackage.json', '/ui/.built-from']) {
    const answer = await get(url)
    assert.ok([401, 404].includes(answer.statusCode), `${url} ${answer.statusCode}`)
  }
})

test('the first view loads at most 100 kB', async () => {
  const { body } = await get('/')
  let first = 0
  for (const [, name = ''] of body.matchAll(/(?:src|href)="([^"]+)"/g)) {
    first += (await get(name, { 'accept-encoding': 'gzip' })).rawPayload.length
  }
  assert.ok(first < 100_000, `${first} bytes`)
})

test('all files of the page are at most 250 kB, and those of an exported screen 110 kB', () => {
  const folder = new URL('../../../dist/ui/', import.meta.url)
  const sizes = readdirSync(folder)
    .filter((name) => name.endsWith('.gz'))
    .map((name) => ({ name, size: statSync(new URL(name, folder)).size }))
  const sum = (some: typeof sizes) => some.reduce((all, { size }) => all + size, 0)
  const isFile = ({ name }: { name: string }) => name.startsWith('export-')
  assert.ok(sum(sizes.filter(isFile)) < 110_000, `${sum(sizes.filter(isFile))} bytes`)
  const rest = sizes.filter((one) => !isFile(one))
  assert.ok(sum(rest) < 250_000, `${sum(rest)} bytes`)
})

test('the page can be switched off', async () => {
  const { app: bare } = await openApp({ after }, { settings: { HEDDLE_PAGE: 'off' } })
  for (const url of ['/', '/ui/', '/acme/qa/r/call/x']) {
    assert.equal((await bare.inject({ method: 'GET', url })).statusCode, 401)
  }
})

test('the page names every module that its script imports, so that a browser can load them at once', async () => {
  const { body } = await get('/')
  const script = (await get(/<script[^>]* src="([^"]+)"/.exec(body)?.[1] as string)).body
  const asked = [...script.matchAll(/\b(?:import|from)\s*"\.\/([^"]+)"/g)].map(([, name]) => `/ui/${name}`)
  const told = [...body.matchAll(/<link rel="modulepreload" href="([^"]+)"/g)].map(([, name]) => name)
  assert.ok(asked.length > 0)
  assert.deepEqual(told, asked)
})
