import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp, type TestApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { create, readObject } from '../../support/objects.ts'

const tagging = (tags: unknown, project_id = project) => ({ project_id, tags })
const naming = (aliases: unknown, digest = 'v0', project_id = project) => ({ project_id, digest, aliases })
const done = { status: 200, body: {} }

async function labelsOf(opened: TestApp, version: string) {
  const { obj } = (await readObject(opened, 'o', version, { include_tags_and_aliases: true })).json
  return { tags: obj.tags, aliases: obj.aliases }
}

test('tags are added to a version and removed from it', async (t) => {
  const opened = await openApp(t)
  const digest = await create(opened, 'o', 'a')
  await create(opened, 'o', 'b')
  const url = `/objs/o/versions/${digest}/tags`
  assert.deepEqual(whole(await opened.send('PUT', url, tagging(['good', 'Ünïcode tag', 'good']))), done)
  assert.deepEqual(whole(await opened.send('PUT', url, tagging(['good', 'new']))), done)
  assert.deepEqual((await labelsOf(opened, 'v0')).tags, ['good', 'new', 'Ünïcode tag'])
  assert.deepEqual((await labelsOf(opened, 'v1')).tags, [])
  assert.deepEqual(whole(await opened.post(`${url}/remove`, tagging(['good', 'never']))), done)
  assert.deepEqual((await labelsOf(opened, 'v0')).tags, ['new', 'Ünïcode tag'])
})

test('tags: refuses invalid requests', async (t) => {
  await assertCommonRefusals(t, '/objs/o/versions/v0/tags/remove', tagging(['x']))
  const opened = await openApp(t)
  for (const tags of [[], [''], ['x'.repeat(257)], [5], Array(101).fill('x')]) {
    assert.equal((await opened.send('PUT', '/objs/o/versions/v0/tags', tagging(tags))).status, 422)
  }
  for (const [method, url] of [
    ['PUT', '/objs/o/versions/v0/tags'],
    ['POST', '/objs/o/versions/v0/tags/remove'],
  ] as const) {
    assert.deepEqual(whole(await opened.send(method, url, tagging(['x']))), {
      status: 404,
      body: {
        reason: `path.digest: there is no object "o" with version "v0" in project "${project}".`,
        code: 'object_not_found',
      },
    })
    assert.equal((await opened.send(method, url, tagging(['x'], 'globex/qa'))).status, 403)
  }
})

test('an alias names one version, and moves when it is set again', async (t) => {
  const opened = await openApp(t)
  for (const val of ['a', 'b']) await create(opened, 'o', val)
  await create(opened, 'other', 'c')
  const url = '/objs/o/aliases'
  assert.deepEqual(whole(await opened.send('PUT', url, naming(['best', 'prod'], 'v0'))), done)
  assert.deepEqual((await labelsOf(opened, 'v0')).aliases, ['best', 'prod'])
  assert.deepEqual(whole(await opened.send('PUT', url, naming(['prod'], 'latest'))), done)
  assert.deepEqual((await labelsOf(opened, 'best')).aliases, ['best'])
  assert.equal((await readObject(opened, 'o', 'prod')).json.obj.val, 'b')
  assert.equal((await readObject(opened, 'other', 'prod')).status, 404)
  const gone = { project_id: project, aliases: ['prod', 'never'] }
  assert.deepEqual(whole(await opened.post(`${url}/remove`, gone)), done)
  assert.equal((await readObject(opened, 'o', 'prod')).status, 404)
})

test('aliases: refuses invalid requests', async (t) => {
  await assertCommonRefusals(t, '/objs/o/aliases/remove', { project_id: project, aliases: ['x'] })
  const opened = await openApp(t)
  const digest = await create(opened, 'o', 'a')
  const set = (body: unknown, key = keys.alice) => opened.send('PUT', '/objs/o/aliases', body, key)
  for (const alias of ['latest', 'v0', 'v12', 'v007', digest]) {
    assert.deepEqual(whole(await set(naming(['fine', alias]))), {
      status: 400,
      body: {
        reason: `aliases.1: "${alias}"; accepted: a name that is neither \`latest\`, nor \`v\` and a number, nor like a digest.`,
        code: 'invalid_value',
      },
    })
  }
  assert.deepEqual((await labelsOf(opened, 'v0')).aliases, [], 'a refused alias sets none of the others')
  for (const aliases of [[], [''], ['a/b'], ['a:b'], ['x'.repeat(129)]]) {
    assert.equal((await set(naming(aliases))).status, 422, JSON.stringify(aliases))
  }
  assert.equal((await set(naming(['x'], 'v1'))).status, 404)
  assert.equal((await set(naming(['x'], 'v0', 'globex/qa'))).status, 403)
  assert.equal((await set(naming(['x'], 'v0', 'globex/qa'), keys.bob)).status, 404)
  const remove = { project_id: project, aliases: ['x'] }
  assert.equal((await opened.post('/objs/nobody/aliases/remove', remove)).status, 404)
})

test('tags and aliases of a project are listed once, without those of deleted versions and other tenants', async (t) => {
  const opened = await openApp(t)
  for (const val of ['a', 'b']) await create(opened, 'o', val)
  await create(opened, 'other', 'c')
  for (const [version, tags] of [
    ['v0', ['good', 'gone']],
    ['v1', ['good', 'Zulu', 'Ünïcode "tag"']],
  ] as const) {
    assert.equal((await opened.send('PUT', `/objs/o/versions/${version}/tags`, tagging(tags))).status, 200)
  }
  assert.equal((await opened.send('PUT', '/objs/o/aliases', naming(['old'], 'v0'))).status, 200)
  for (const name of ['o', 'other']) {
    const body = naming(['best'], 'latest')
    assert.equal((await opened.send('PUT', `/objs/${name}/aliases`, body)).status, 200)
  }
  const deletion = { project_id: project, object_id: 'o', digests: ['v0'] }
  assert.equal((await opened.post('/obj/delete', deletion)).status, 200)
  const listed = async (path: string, of: string, key: string = keys.alice) =>
    whole(await opened.get(`${path}?project_id=${encodeURIComponent(of)}`, key))
  assert.deepEqual(await listed('/tags', project), {
    status: 200,
    body: { tags: ['Zulu', 'good', 'Ünïcode "tag"'] },
  })
  assert.deepEqual(await listed('/aliases', project), { status: 200, body: { aliases: ['best'] } })
  assert.deepEqual((await listed('/tags', 'globex/qa', keys.bob)).body, { tags: [] })
  assert.deepEqual((await listed('/aliases', 'acme/other')).body, { aliases: [] })
  for (const path of ['/tags', '/aliases']) {
    assert.equal((await listed(path, 'globex/qa')).status, 403)
    for (const query of [
      '',
      '?project_id=acme',
      '?project_id=acme/qa&project=x',
      '?project_id=a/b&project_id=c/d',
    ])
      assert.equal((await opened.get(path + query)).status, 422, query)
    assert.equal((await opened.get(`${path}?project_id=acme/qa`, 'nobody')).status, 401)
  }
})
