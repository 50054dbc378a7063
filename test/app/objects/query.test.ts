import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { keys, openApp, type TestApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { classValue, create, readObject } from '../../support/objects.ts'

/** The objects found, as `name:number`. */
async function found({ post }: TestApp, fields: Record<string, unknown>): Promise<string[]> {
  const answer = await post('/objs/query', { project_id: project, ...fields })
  assert.equal(answer.status, 200, answer.text)
  return answer.json.objs.map(
    (obj: { object_id: string; version_index: number }) => `${obj.object_id}:${obj.version_index}`,
  )
}

async function openWithObjects(t: Parameters<typeof openApp>[0]): Promise<TestApp> {
  const opened = await openApp(t)
  await create(opened, 'data', classValue('Dataset', { n: 1 }))
  await create(opened, 'data', classValue('Dataset', { n: 2 }))
  await create(opened, 'model', classValue('Small', {}, ['Model']))
  await create(opened, 'answer', { _type: 'CustomWeaveType', weave_type: { type: 'Op' } })
  await create(opened, 'plain', 5)
  return opened
}

test('objs/query: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/objs/query', { project_id: project })
  const { post } = await openApp(t)
  assert.deepEqual(
    whole(
      await post('/objs/query', { project_id: project, sort_by: [{ field: 'digest', direction: 'asc' }] }),
    ),
    {
      status: 422,
      body: {
        reason: 'sort_by.0.field: there is no field "digest"; accepted: object_id, created_at.',
        code: 'unknown_field',
      },
    },
  )
})

test('objs/query: returns all objects, in the order of their creation', async (t) => {
  const opened = await openWithObjects(t)
  const answer = await opened.post('/objs/query', { project_id: project })
  assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  const { objs } = answer.json
  const each = []
  for (const [name, version] of [
    ['data', 'v0'],
    ['data', 'v1'],
    ['model', 'v0'],
    ['answer', 'v0'],
    ['plain', 'v0'],
  ] as const) {
    each.push((await readObject(opened, name, version)).json.obj)
  }
  const ordered = each.toSorted(
    (a, b) =>
      a.created_at.localeCompare(b.created_at) ||
      a.object_id.localeCompare(b.object_id) ||
      a.version_index - b.version_index,
  )
  assert.deepEqual(objs, ordered)
})

test('objs/query: applies each filter, and all of them together', async (t) => {
  const opened = await openWithObjects(t)
  const { send } = opened
  await send('PUT', '/objs/data/versions/v0/tags', { project_id: project, tags: ['old', 'good'] })
  await send('PUT', '/objs/model/aliases', { project_id: project, digest: 'v0', aliases: ['best'] })
  const sort_by = [{ field: 'object_id', direction: 'asc' }]
  const filtered = (filter: unknown) => found(opened, { filter, sort_by })
  for (const [filter, names] of [
    [{ object_ids: ['data', 'plain', 'nobody'] }, ['data:0', 'data:1', 'plain:0']],
    [{ object_ids: [] }, ['answer:0', 'data:0', 'data:1', 'model:0', 'plain:0']],
    [{ base_object_classes: ['Dataset', 'Model'] }, ['data:0', 'data:1', 'model:0']],
    [{ leaf_object_classes: ['Small'] }, ['model:0']],
    [{ exclude_base_object_classes: ['Dataset'] }, ['answer:0', 'model:0', 'plain:0']],
    [{ is_op: true }, ['answer:0']],
    [{ is_op: false, latest_only: true }, ['data:1', 'model:0', 'plain:0']],
    [{ latest_only: false }, ['answer:0', 'data:0', 'data:1', 'model:0', 'plain:0']],
    [{ tags: ['good', 'other'] }, ['data:0']],
    [{ aliases: ['best'] }, ['model:0']],
    [{ aliases: ['latest'] }, ['answer:0', 'data:1', 'model:0', 'plain:0']],
    [{ tags: ['good'], latest_only: true }, []],
  ] as const) {
    assert.deepEqual(await filtered(filter), names, JSON.stringify(filter))
  }
})

test('objs/query: sorts and pages', async (t) => {
  const opened = await openWithObjects(t)
  const by = (field: string, direction: string) => [{ field, direction }]
  assert.deepEqual(await found(opened, { sort_by: by('object_id', 'desc') }), [
    'plain:0',
    'model:0',
    'data:0',
    'data:1',
    'answer:0',
  ])
  const sort_by = by('object_id', 'asc')
  assert.deepEqual(await found(opened, { sort_by, limit: 2, offset: 1 }), ['data:0', 'data:1'])
  assert.deepEqual(await found(opened, { sort_by, offset: 4 }), ['plain:0'])
  assert.deepEqual(await found(opened, { sort_by, limit: 0 }), [])
  assert.deepEqual(await found(opened, { sort_by, offset: 9 }), [])
})

test('objs/query: can leave out values, and include tags and aliases', async (t) => {
  const opened = await openWithObjects(t)
  await opened.send('PUT', '/objs/data/versions/v1/tags', { project_id: project, tags: ['b', 'a'] })
  await opened.send('PUT', '/objs/data/aliases', { project_id: project, digest: 'v1', aliases: ['z', 'y'] })
  const { objs } = (
    await opened.post('/objs/query', {
      project_id: project,
      filter: { object_ids: ['data'] },
      metadata_only: true,
      include_tags_and_aliases: true,
    })
  ).json
  assert.deepEqual(
    objs.map(({ val, tags, aliases }: Record<string, unknown>) => [val, tags, aliases]),
    [
      [{}, [], []],
      [{}, ['a', 'b'], ['y', 'z']],
    ],
  )
})

test('objs/query: leaves out deleted objects and those of other projects', async (t) => {
  const opened = await openWithObjects(t)
  await opened.post('/obj/delete', { project_id: project, object_id: 'data', digests: ['v1'] })
  assert.deepEqual(await found(opened, { filter: { object_ids: ['data'], latest_only: true } }), ['data:0'])
  const theirs = await opened.post('/objs/query', { project_id: 'globex/qa' }, keys.bob)
  assert.deepEqual(theirs.json, { objs: [] })
})

test('objs/query: returns many versions with their whole values', async (t) => {
  const opened = await openApp(t)
  for (let n = 0; n < 250; n++) await create(opened, 'o', { n, text: 'x'.repeat(1000) })
  const { objs } = (await opened.post('/objs/query', { project_id: project })).json
  assert.deepEqual(
    objs.map(({ val }: { val: { n: number } }) => val.n),
    Array.from({ length: 250 }, (_, n) => n),
  )
})
