import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { create, readObject } from '../../support/objects.ts'

const remove = (digests?: unknown, fields: Record<string, unknown> = {}) => ({
  project_id: project,
  object_id: 'o',
  digests,
  ...fields,
})

test('obj/delete: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/obj/delete', remove())
  const opened = await openApp(t)
  const { post } = opened
  await create(opened, 'o', 'a')
  assert.deepEqual(whole(await post('/obj/delete', remove(Array(101).fill('v0')))), {
    status: 400,
    body: { reason: 'digests: 101 entries; accepted: at most 100.', code: 'invalid_value' },
  })
  assert.deepEqual(whole(await post('/obj/delete', remove(['v0', 'v1']))), {
    status: 404,
    body: {
      reason: `digests: there is no object "o" with version "v1" in project "${project}".`,
      code: 'object_not_found',
    },
  })
  assert.equal((await readObject(opened, 'o')).status, 200, 'an unknown digest keeps the other versions')
  assert.deepEqual(whole(await post('/obj/delete', remove(null, { object_id: 'other' }))), {
    status: 404,
    body: {
      reason: `object_id: there is no object "other" with version "latest" in project "${project}".`,
      code: 'object_not_found',
    },
  })
  const theirs = remove(null, { project_id: 'globex/qa' })
  assert.equal((await post('/obj/delete', theirs)).status, 403)
  assert.equal((await post('/obj/delete', theirs, keys.bob)).status, 404)
})

test('obj/delete: deletes the named versions, and the newest of the rest becomes latest', async (t) => {
  const opened = await openApp(t)
  const digests = []
  for (const val of ['a', 'b', 'c', 'd']) digests.push(await create(opened, 'o', val))
  await create(opened, 'o', 'b')
  const answer = await opened.post('/obj/delete', remove([digests[0], 'v1', digests[1], 'v3']))
  assert.deepEqual(whole(answer), { status: 200, body: { num_deleted: 3 } })
  const { obj } = (await readObject(opened, 'o')).json
  assert.deepEqual([obj.val, obj.version_index, obj.is_latest], ['c', 2, 1])
  assert.equal((await opened.post('/obj/delete', remove(['v1']))).status, 404)
  assert.deepEqual(whole(await opened.post('/obj/delete', remove([]))).body, { num_deleted: 0 })
})

test('obj/delete: deletes every version when no digests are given', async (t) => {
  const opened = await openApp(t)
  for (const val of ['a', 'b']) await create(opened, 'o', val)
  assert.deepEqual(whole(await opened.post('/obj/delete', remove())).body, { num_deleted: 2 })
  assert.equal((await readObject(opened, 'o')).status, 404)
  assert.equal((await opened.post('/obj/delete', remove())).status, 404)
})

test('obj/delete: creating a deleted version again restores its number, but not its tags and aliases', async (t) => {
  const opened = await openApp(t)
  await create(opened, 'o', 'a')
  await create(opened, 'o', 'b')
  await opened.send('PUT', '/objs/o/versions/v0/tags', { project_id: project, tags: ['t'] })
  await opened.send('PUT', '/objs/o/aliases', { project_id: project, digest: 'v0', aliases: ['best'] })
  await opened.post('/obj/delete', remove(['best']))
  await create(opened, 'o', 'a')
  const { obj } = (await readObject(opened, 'o', 'latest', { include_tags_and_aliases: true })).json
  assert.deepEqual([obj.val, obj.version_index, obj.tags, obj.aliases], ['a', 0, [], []])
})
