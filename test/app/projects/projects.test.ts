import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { hashKey } from '../../../src/domain/keys.ts'
import { keys, openApp } from '../../support/app.ts'
import { startOf } from '../../support/calls.ts'
import { storeOneOfEach } from '../../support/one-of-each.ts'

const adminOfAcme = 'the-secret-key-of-ada'

async function openWithAdmin(t: TestContext) {
  const opened = await openApp(t)
  await opened.database.write('addUser', {
    user: { name: 'ada', role: 'admin', entities: ['acme'], created_at: 1 },
    key: { id: 'ada', hash: hashKey(adminOfAcme) },
  })
  const start = async (project_id: string) => {
    const { status } = await opened.post('/call/start', { start: startOf({ project_id }) }, keys.root)
    assert.equal(status, 200)
  }
  const remove = (project: string, key = adminOfAcme) =>
    opened.send('DELETE', `/projects/${project}`, undefined, key)
  return { ...opened, start, remove }
}

test('names of projects that a URL reads as a path step are refused', async (t) => {
  const { post } = await openWithAdmin(t)
  for (const project_id of ['acme/.', 'acme/..', '../qa', './..']) {
    const { status, json } = await post('/call/start', { start: startOf({ project_id }) }, keys.root)
    assert.deepEqual([status, json.detail?.[0].loc], [422, ['body', 'start', 'project_id']])
    assert.match(
      json.reason,
      /expected a name other than \. and \.\., which cannot be part of a URL, received /,
    )
  }
  for (const project_id of ['acme/...', 'acme/.qa', 'acme/qa.', 'acme/a%2Fb', 'acme/%2E%2E']) {
    const start = startOf({ project_id })
    assert.equal((await post('/call/start', { start }, keys.root)).status, 200, project_id)
    const address = `/v2/${project_id.split('/').map(encodeURIComponent).join('/')}/calls/complete`
    assert.equal((await post(address, { batch: [] }, keys.root)).status, 200, project_id)
  }
})

test('a user sees only the projects of their entities', async (t) => {
  const { get, start, database } = await openWithAdmin(t)
  for (const name of ['acme/qa', 'acme/b', 'globex/qa']) await start(name)
  await database.write('changeProjectSettings', { project_id: 'acme/b', change: { retention_days: 7 } })
  const line = (project: string, settings = {}) => ({ project, settings, is_being_deleted: false })
  const own = [line('acme/b', { retention_days: 7 }), line('acme/qa')]
  assert.deepEqual((await get('/projects')).json, { projects: own, next: null })
  assert.deepEqual((await get('/projects', keys.bob)).json, { projects: [line('globex/qa')], next: null })
  const all = (await get('/projects', keys.root)).json
  assert.deepEqual(all, { projects: [...own, line('globex/qa')], next: null })
  assert.deepEqual((await get('/projects?limit=1')).json, { projects: own.slice(0, 1), next: 'acme/b' })
  const second = await get('/projects?limit=1&after=acme%2Fb')
  assert.deepEqual(second.json, { projects: own.slice(1), next: null })
  assert.deepEqual(
    (await get('/projects?after=globex%2Fa')).json,
    { projects: [], next: null },
    'projects of other tenants are not listed',
  )
  for (const query of ['limit=0', 'limit=1001', 'limit=x', `after=${'x'.repeat(300)}`, 'after=%00']) {
    assert.equal((await get(`/projects?${query}`)).status, 422, query)
  }
  assert.equal((await get('/projects', 'a-key-of-nobody')).status, 401)
})

test('an admin with access to a project can delete it', async (t) => {
  const opened = await openWithAdmin(t)
  const { remove, get, post, start } = opened
  const things = await storeOneOfEach(opened, 'acme/qa', keys.alice)
  await start('globex/qa')
  assert.deepEqual(
    [(await remove('acme/qa', keys.alice)).status, (await get('/projects')).json.projects.length],
    [403, 1],
  )
  const [foreign, unknown] = [await remove('globex/qa'), await remove('globex/nothing')]
  assert.deepEqual([foreign.status, foreign.json.code], [403, 'entity_forbidden'])
  assert.equal(unknown.text.replace('nothing', 'qa'), foreign.text)
  assert.equal((await remove('acme/nothing')).status, 404)
  assert.equal((await remove('acme/a%20')).status, 422)

  const { status, json } = await remove('acme/qa')
  assert.equal(status, 200)
  assert.deepEqual(json.deleted, {
    calls: 1,
    feedback: 1,
    queues: 1,
    object_versions: 3,
    tables: 1,
    files: 1,
    prices: 1,
    monitors: 1,
  })
  assert.equal((await post('/call/read', { project_id: 'acme/qa', id: things.call })).status, 404)
  assert.deepEqual((await get('/projects')).json.projects, [])
  assert.equal((await remove('acme/qa')).status, 404)
  assert.equal((await get('/projects', keys.bob)).json.projects.length, 1)

  await start('acme/qa')
  assert.equal((await get('/projects')).json.projects.length, 1, 'the next write creates the project again')
})
