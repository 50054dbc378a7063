import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { basic, keys, type Method, openApp, type TestApp } from '../support/app.ts'
import { openAppWithoutShedding } from '../support/app-without-shedding.ts'
import { fileForm, sendForm } from '../support/forms.ts'
import { secret, storeOneOfEach, type Things } from '../support/one-of-each.ts'
import { dumpOf } from '../support/record-dump.ts'

/** Attempts to leave a folder, or to get around a comparison of names. */
const tricks = [
  '..',
  '../..',
  '../../globex/qa',
  '../../../../../../etc/passwd',
  '..\\..\\windows\\win.ini',
  '/etc/passwd',
  'file:///etc/passwd',
  'C:\\',
  '%2e%2e%2f%2e%2e%2fglobex%2fqa',
  '%252e%252e%252f',
  '..%c0%af',
  'private%00.json',
  'private\0',
  'private ',
  ' private',
  'private/',
  'private;',
  'private#',
  'private?x=1',
  'PRIVATE',
  'ｐｒｉｖａｔｅ',
  'priv\u200bate',
  'private\u0301',
  'prïvate',
  '\u202eetavirp',
  'x'.repeat(100_000),
  '../'.repeat(1_000),
]

async function openBoth(t: TestContext): Promise<TestApp & { ours: Things; theirs: Things }> {
  const opened = await openAppWithoutShedding(t)
  const ours = await storeOneOfEach(opened, 'acme/qa', keys.alice)
  const theirs = await storeOneOfEach(opened, 'globex/qa', keys.bob)
  return { ...opened, ours, theirs }
}

type Request = [method: Method, url: string, body?: Record<string, unknown>]

/** Requests with the name wherever a thing is named, in bodies and in paths. */
function naming(name: string, { queue, rule, item, digest, object }: Things): Request[] {
  const project_id = 'acme/qa'
  const encoded = encodeURIComponent(name.toWellFormed())
  const inQueue = `/annotation_queues/${encoded}`
  const posts: [url: string, fields: Record<string, unknown>][] = [
    ['/obj/read', { object_id: name, digest: 'latest' }],
    ['/obj/read', { object_id: object, digest: name }],
    ['/obj/delete', { object_id: name }],
    ['/obj/delete', { object_id: object, digests: [name] }],
    ['/table/query', { digest: name }],
    ['/table/query_stats', { digest: name }],
    ['/table/update', { base_digest: name, updates: [] }],
    ['/table/create_from_digests', { row_digests: [name] }],
    ['/file/content', { digest: name }],
    ['/files/content', { digest: name }],
    ['/call/read', { id: name }],
    [`/annotation_queues/${queue}/items/${encoded}/progress`, { annotation_state: 'completed' }],
    [`${inQueue}/items/${item}/progress`, { annotation_state: 'completed' }],
    [`${inQueue}/items/query`, {}],
    [`${inQueue}/next`, {}],
    [`${inQueue}/rules`, { pick: { kind: 'all' } }],
    [`/objs/${encoded}/versions/${digest}/tags/remove`, { tags: ['a'] }],
    [`/objs/${object}/versions/${encoded}/tags/remove`, { tags: ['a'] }],
    [`/objs/${encoded}/aliases/remove`, { aliases: ['a'] }],
  ]
  return [
    ...posts.map(([url, fields]): Request => ['POST', url, { project_id, ...fields }]),
    ['GET', `${inQueue}?project_id=acme%2Fqa`],
    ['DELETE', `${inQueue}?project_id=acme%2Fqa`],
    ['GET', `${inQueue}/rules?project_id=acme%2Fqa`],
    ['PUT', `${inQueue}/rules/${rule}`, { project_id, paused: true }],
    ['PUT', `/annotation_queues/${queue}/rules/${encoded}`, { project_id, paused: true }],
    ['DELETE', `/annotation_queues/${queue}/rules/${encoded}?project_id=acme%2Fqa`],
    ['GET', `/v2/acme/qa/models/${encoded}/versions/latest`],
    ['GET', `/v2/acme/qa/models/${object}/versions/${encoded}`],
    ['DELETE', `/v2/acme/qa/models/${encoded}`],
    ['POST', '/refs/read_batch', { refs: [`weave:///acme/qa/object/${encoded}:latest`] }],
    ['POST', '/refs/read_batch', { refs: [`weave:///acme/qa/object/${name}:latest`] }],
    ['POST', '/refs/read_batch', { refs: [`weave:///acme/qa/object/${object}:${name}`] }],
  ]
}

test('a name that is a path finds nothing', async (t) => {
  const { send, ours, database } = await openBoth(t)
  const before = await dumpOf(database, () => false)
  for (const trick of tricks) {
    for (const [method, url, body] of naming(trick, ours)) {
      const answer = await send(method, url, body)
      const shown = `${method} ${url.slice(0, 200)} ${JSON.stringify(body)?.slice(0, 200)}: ${answer.status} ${answer.text.slice(0, 300)}`
      const isEmpty = url === '/table/query' || url === '/table/query_stats'
      // A path that leads out of its folder ends at the page, which has no data.
      const isPage = method === 'GET' && new URL(url, 'http://localhost').pathname === '/'
      assert.ok(isEmpty || isPage ? answer.status < 500 : answer.status >= 400 && answer.status < 500, shown)
      assert.ok(!answer.text.includes(secret), shown)
    }
  }
  assert.deepEqual(await dumpOf(database, () => false), before)
})

test('a project name that is a path is refused, and never becomes that of another tenant', async (t) => {
  const opened = await openBoth(t)
  const { post, app, theirs, database } = opened
  const before = await dumpOf(database, () => false)
  const projects = [
    'acme/../globex/qa',
    'acme/qa/../../globex/qa',
    '../globex/qa',
    'globex/qa',
    'globex%2fqa',
    'acme%2f..%2fglobex/qa',
    'globex/qa#acme/qa',
    'ACME/qa',
    'ａｃｍｅ/qa',
    'acme\u200b/qa',
    'ac\u00admе/qa',
    '*/qa',
    '/acme/qa',
    'acme//qa',
    'acme/qa\0',
    'acme\0/qa',
    'acme\n/qa',
    ' acme/qa',
    'x'.repeat(100_000),
  ]
  for (const project_id of projects) {
    const answers = await Promise.all([
      post('/call/read', { project_id, id: theirs.call }),
      post('/calls/stream_query', { project_id }),
      post('/obj/read', { project_id, object_id: theirs.object, digest: theirs.digest }),
      post('/file/content', { project_id, digest: theirs.file }),
      post('/obj/create', { obj: { project_id, object_id: 'x', val: 1 } }),
      sendForm(opened, fileForm(project_id, 'x')),
    ])
    for (const { status, text } of answers) {
      const shown = `${project_id.slice(0, 100)}: ${status} ${text.slice(0, 300)}`
      assert.ok(status === 403 || status === 422 || (status === 400 && text.includes('form')), shown)
      assert.ok(!text.includes(secret), shown)
    }
  }
  for (const url of [
    '/v2/globex%2fqa/x/ops',
    '/v2/acme%2f..%2fglobex/qa/ops',
    '/v2/acme/..%2f..%2fglobex%2fqa/ops',
    '/v2/%2e%2e%2fglobex/qa/ops',
    '/v2/acme%00/qa/ops',
    '/v2/ACME/qa/ops',
    '/v2/*/qa/ops',
    `/v2/${'x'.repeat(127)}/qa/ops`,
  ]) {
    const headers = { authorization: basic(keys.alice) }
    const { statusCode, body } = await app.inject({ method: 'GET', url, headers })
    assert.ok([403, 404, 422].includes(statusCode), `${url}: ${statusCode} ${body}`)
  }
  assert.deepEqual(await dumpOf(database, () => false), before)
})

test('two encodings of the same letters are two names', async (t) => {
  const { post } = await openAppWithoutShedding(t)
  const [composed, decomposed] = ['acme/caf\u00e9', 'acme/cafe\u0301']
  const val = { secret }
  const { digest } = (await post('/obj/create', { obj: { project_id: composed, object_id: 'o', val } })).json
  const read = (project_id: string) => post('/obj/read', { project_id, object_id: 'o', digest })
  assert.equal((await read(composed)).status, 200)
  assert.equal((await read(decomposed)).status, 404)
})

test('an object cannot have a name that is a path', async (t) => {
  const { post, send } = await openAppWithoutShedding(t)
  for (const trick of tricks) {
    if (/^[\w.-]{1,128}$/.test(trick)) continue
    const made = await post('/obj/create', { obj: { project_id: 'acme/qa', object_id: trick, val: 1 } })
    assert.equal(made.status, 422, trick.slice(0, 100))
    const scorer = { name: trick, op_source_code: 'x' }
    const { status, json } = await post('/v2/acme/qa/scorers', scorer)
    if (status === 200) assert.match(json.object_id, /^[\w.-]{1,128}$/)
    else assert.equal(status, 422, trick.slice(0, 100))
    const aliases = [trick]
    const named = await send('PUT', '/objs/x/aliases', { project_id: 'acme/qa', digest: 'v0', aliases })
    assert.equal(named.status, 422, trick.slice(0, 100))
  }
})

test('the reference page serves no files but its own', async (t) => {
  const { app } = await openApp(t, { settings: { HEDDLE_DOCS: 'on' } })
  const headers = { authorization: basic(keys.alice) }
  assert.equal((await app.inject({ url: '/docs/static/swagger-ui.css', headers })).statusCode, 200)
  for (const path of [
    '%2e%2e/package.json',
    '%2e%2e%2fpackage.json',
    '..%2f..%2fpackage.json',
    '..%5c..%5cpackage.json',
    '%2e%2e/%2e%2e/%2e%2e/package.json',
    '%2fetc%2fpasswd',
    'swagger-ui.css%00',
    'swagger-ui.css/..%2f..%2fpackage.json',
    '.%2e/.%2e/package.json',
    '%252e%252e%252fpackage.json',
  ]) {
    for (const url of [`/docs/static/${path}`, `/docs/${path}`]) {
      const { statusCode, body } = await app.inject({ url, headers })
      assert.ok(statusCode >= 400 && statusCode < 500, `${url}: ${statusCode}`)
      assert.ok(!body.includes('"version"') && !body.includes('root:'), url)
    }
  }
})
