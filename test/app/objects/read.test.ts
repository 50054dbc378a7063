import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readOneObject } from '../../../src/operations/objects/read.ts'
import type { Sql } from '../../../src/storage/sql/sql.ts'
import type { Reader } from '../../../src/storage/transaction.ts'
import { whole } from '../../support/answers.ts'
import { openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { classValue, create, readObject } from '../../support/objects.ts'
import { documentOf } from '../../support/openapi.ts'

const nowhere = (name: string, version: string) => ({
  status: 404,
  body: {
    reason: `digest: there is no object "${name}" with version "${version}" in project "${project}".`,
    code: 'object_not_found',
  },
})

test('obj/read: refuses invalid requests, checking in a fixed order', async (t) => {
  await assertCommonRefusals(t, '/obj/read', { project_id: project, object_id: 'o', digest: 'latest' })
  const opened = await openApp(t)
  assert.equal((await opened.post('/obj/read', { project_id: project, object_id: 'o' })).status, 422)
  assert.deepEqual(whole(await readObject(opened, 'o', 'latest')), nowhere('o', 'latest'))
  assert.deepEqual(whole(await readObject(opened, 'a/b', 'v0')), nowhere('a/b', 'v0'))
})

test('obj/read: returns the whole record', async (t) => {
  const opened = await openApp(t)
  const before = new Date(Date.now() - 1).toISOString()
  const val = classValue('Small', { text: 'é' }, ['Model'])
  const digest = await create(opened, 'o', val)
  const answer = await readObject(opened, 'o', digest)
  const { created_at } = answer.json.obj
  assert.ok(created_at >= before)
  const record = {
    project_id: project,
    object_id: 'o',
    digest,
    version_index: 0,
    is_latest: 1,
    kind: 'object',
    base_object_class: 'Model',
    leaf_object_class: 'Small',
    val,
    created_at,
    deleted_at: null,
    svc_user_id: 'alice',
    wb_user_id: 'alice',
    size_bytes: Buffer.byteLength(JSON.stringify(val)),
    tags: null,
    aliases: null,
  }
  assert.deepEqual(whole(answer), { status: 200, body: { obj: record } })
  const bare = await readObject(opened, 'o', digest, { metadata_only: true })
  assert.deepEqual(bare.json.obj, { ...record, val: {} })
  const labelled = await readObject(opened, 'o', digest, { include_tags_and_aliases: true })
  assert.deepEqual(labelled.json.obj, { ...record, tags: [], aliases: [] })
})

test('obj/read: finds a version by digest, latest, number or alias', async (t) => {
  const opened = await openApp(t)
  const digests = []
  for (const val of ['a', 'b', 'c']) digests.push(await create(opened, 'o', val))
  const aliases = { project_id: project, digest: 'v1', aliases: ['best'] }
  assert.equal((await opened.send('PUT', '/objs/o/aliases', aliases)).status, 200)
  for (const [version, val] of [
    [digests[0], 'a'],
    ['latest', 'c'],
    ['v0', 'a'],
    ['v2', 'c'],
    ['best', 'b'],
  ] as const) {
    assert.equal((await readObject(opened, 'o', version)).json.obj.val, val, version)
  }
  for (const version of ['v3', 'v00', 'v-1', 'V0', 'v99999999999999999999', 'worst', 'LATEST']) {
    assert.deepEqual(whole(await readObject(opened, 'o', version)), nowhere('o', version))
  }
})

test('obj/read: a deleted version is reported with its time of deletion', async (t) => {
  const opened = await openApp(t, { settings: { HEDDLE_DOCS: 'on' } })
  const before = new Date(Date.now() - 1).toISOString()
  const digest = await create(opened, 'o', 'a')
  await create(opened, 'o', 'b')
  await opened.post('/obj/delete', { project_id: project, object_id: 'o', digests: ['v0'] })
  for (const version of [digest, 'v0']) {
    const answer = await readObject(opened, 'o', version)
    const { deleted_at } = answer.json
    assert.ok(deleted_at >= before && !Number.isNaN(Date.parse(deleted_at)))
    assert.deepEqual(whole(answer), {
      status: 404,
      body: {
        reason: `digest: the version "${version}" of object "o" in project "${project}" was deleted.`,
        code: 'object_deleted',
        deleted_at,
      },
    })
  }
  const { paths } = await documentOf(opened)
  const schema = paths['/obj/read']?.post?.responses[404]?.content?.['application/json']?.schema
  assert.deepEqual(Object.keys(schema?.properties ?? {}), ['reason', 'code', 'detail', 'deleted_at'])
})

test('obj/read: does not read the value when only metadata is requested', async (t) => {
  const opened = await openApp(t)
  await create(opened, 'o', { large: true })
  const { database } = opened
  const rows: object[] = []
  const watched: Reader = {
    dialect: database.dialect,
    all: (query) => database.all(query),
    async get<T>(query: Sql) {
      const row = await database.get<T>(query)
      rows.push(row as object)
      return row
    },
  }
  const caller = { name: 'alice', role: 'member', entities: new Set(['acme']) } as const
  const asked = { project_id: project, object_id: 'o', digest: 'latest' }
  for (const metadata_only of [true, false]) await readOneObject(watched, caller, { ...asked, metadata_only })
  assert.deepEqual(
    rows.map((row) => 'val' in row),
    [false, true],
  )
})
