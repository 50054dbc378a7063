import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Database } from '../../../src/storage/database.ts'
import { readLabels } from '../../../src/storage/objects/object-labels.ts'
import { streamObjects } from '../../../src/storage/objects/object-queries.ts'
import {
  type NewObject,
  type ObjectWithValue,
  readObject,
  readValues,
  readVersions,
  type VersionsOf,
} from '../../../src/storage/objects/objects.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { newProject, startedAt } from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'
import { collect, viewIn } from '../../support/views.ts'

function objectOf(project: string, digest: string, fields: Partial<NewObject> = {}): NewObject {
  const val = JSON.stringify({ digest })
  return {
    project_id: project,
    object_id: 'o',
    digest,
    kind: 'object',
    base_object_class: null,
    leaf_object_class: null,
    val,
    size: val.length,
    user_id: 'alice',
    now: startedAt,
    ...fields,
  }
}

const keep = (db: Database, project: string, digest: string, fields: Partial<NewObject> = {}) =>
  db.write('keepObject', objectOf(project, digest, fields))

function allOf(db: Database, project: string): Promise<ObjectWithValue[]> {
  const view = { ...viewIn(project), filter: {}, values: true }
  return collect(streamObjects(boundTo(db, new AbortController().signal), view))
}

async function shown(db: Database, project: string): Promise<string[]> {
  return (await allOf(db, project)).map((row) => `${row.digest} ${row.version_index} ${row.is_latest}`)
}

export function objects(open: Driver['open']): void {
  const remove = (
    db: Database,
    project_id: string,
    versions: string[] | null,
    only: VersionsOf | null = null,
  ) => db.write('deleteObjects', { project_id, object_id: 'o', only, versions, now: startedAt + 1 })

  describe('objects', () => {
    test('a version is read as it was written', async (t) => {
      const db = await open(t)
      const project = newProject()
      const val = '{"a":1.0,"b":"é\\u0000"}'
      const classes = { base_object_class: 'Model', leaf_object_class: 'Small' }
      await keep(db, project, 'd', { val, kind: 'op', ...classes })
      assert.deepEqual(
        { ...(await readObject(db, project, { name: 'o', digest: 'd' })) },
        {
          project_id: project,
          object_id: 'o',
          digest: 'd',
          version_index: 0,
          is_latest: 1,
          kind: 'op',
          ...classes,
          size: 14,
          user_id: 'alice',
          created_at: startedAt,
          deleted_at: null,
          val,
        },
      )
    })

    test('version numbers grow, and a repeated value becomes the latest', async (t) => {
      const db = await open(t)
      const project = newProject()
      for (const digest of ['a', 'b', 'c', 'b']) await keep(db, project, digest)
      assert.deepEqual(await shown(db, project), ['a 0 0', 'b 1 1', 'c 2 0'])
      await keep(db, newProject(), 'a')
      await keep(db, project, 'a', { object_id: 'other' })
      assert.deepEqual(await shown(db, project), ['a 0 0', 'a 0 1', 'b 1 1', 'c 2 0'])
    })

    test('a value keeps its first form until it is deleted', async (t) => {
      const db = await open(t)
      const project = newProject()
      const give = (val: string) => keep(db, project, 'a', { val, size: val.length })
      const values = async () => (await allOf(db, project)).map(({ val, size }) => `${val} ${size}`)
      await give('[1e400]')
      await keep(db, project, 'b')
      await give('[1e5000]')
      assert.deepEqual(await shown(db, project), ['a 0 1', 'b 1 0'])
      assert.deepEqual(await values(), ['[1e400] 7', '{"digest":"b"} 14'])
      await remove(db, project, ['a'])
      await give('[1e5000]')
      assert.deepEqual(await shown(db, project), ['a 0 1', 'b 1 0'])
      assert.deepEqual(await values(), ['[1e5000] 8', '{"digest":"b"} 14'])
    })

    test('concurrent versions have one number each and a single latest one', async (t) => {
      const db = await open(t)
      const project = newProject()
      const digests = Array.from({ length: 20 }, (_, n) => `d${n}`)
      await Promise.all([...digests, ...digests].map((digest) => keep(db, project, digest)))
      const rows = await allOf(db, project)
      assert.deepEqual(
        rows.map((row) => row.version_index),
        digests.map((_, n) => n),
      )
      assert.equal(rows.filter((row) => row.is_latest === 1).length, 1)
    })

    test('two classes under one name conflict, but only among live versions', async (t) => {
      const db = await open(t)
      const project = newProject()
      const of = (base: string) => ({ base_object_class: base })
      assert.deepEqual(await keep(db, project, 'a', of('Model')), { version_index: 0 })
      assert.deepEqual(await keep(db, project, 'b', of('Dataset')), { conflict: 'Model' })
      assert.deepEqual(await keep(db, project, 'c'), { version_index: 1 })
      await remove(db, project, ['a'])
      assert.deepEqual(await keep(db, project, 'b', of('Dataset')), { version_index: 2 })
    })

    test('deleting empties versions, and the newest remaining one becomes the latest', async (t) => {
      const db = await open(t)
      const project = newProject()
      for (const digest of ['a', 'b', 'c', 'a', 'd']) await keep(db, project, digest)
      assert.deepEqual(await remove(db, project, ['latest', 'v1', 'b']), { deleted: 2 })
      assert.deepEqual(await shown(db, project), ['a 0 1', 'c 2 0'])
      const gone = await readObject(db, project, { name: 'o', digest: 'v3' })
      assert.deepEqual([gone?.val, gone?.size, gone?.deleted_at], [null, 0, startedAt + 1])
      assert.deepEqual(await remove(db, project, ['c', 'v3']), { missing: 'v3' })
      assert.deepEqual(await shown(db, project), ['a 0 1', 'c 2 0'])
      assert.deepEqual(await remove(db, project, null), { deleted: 2 })
      assert.deepEqual(await remove(db, project, null), { missing: 'o' })
      assert.equal(await readObject(db, project, { name: 'o', digest: 'latest' }), undefined)
      assert.deepEqual(await keep(db, project, 'd'), { version_index: 3 })
      assert.deepEqual(await keep(db, project, 'e'), { version_index: 4 })
      assert.deepEqual(await shown(db, project), ['d 3 0', 'e 4 1'])
    })

    test('of several kinds under one name only versions of the requested kind are deleted', async (t) => {
      const db = await open(t)
      const project = newProject()
      await keep(db, project, 'op', { kind: 'op' })
      await keep(db, project, 'plain')
      await keep(db, project, 'model', { base_object_class: 'Model' })
      await keep(db, project, 'plain')
      const models = { base_object_classes: ['Model', 'Scorer'] }
      assert.deepEqual(await remove(db, project, null, { base_object_classes: ['Scorer'] }), { missing: 'o' })
      assert.deepEqual(await remove(db, project, ['op', 'latest'], { is_op: true }), { missing: 'latest' })
      assert.deepEqual(await remove(db, project, ['plain'], models), { missing: 'plain' })
      assert.deepEqual(await shown(db, project), ['op 0 0', 'plain 1 1', 'model 2 0'])
      assert.deepEqual(await remove(db, project, null, { is_op: true }), { deleted: 1 })
      assert.deepEqual(await remove(db, project, ['v2'], models), { deleted: 1 })
      assert.deepEqual(await shown(db, project), ['plain 1 1'])
    })

    test('times are in the order of version numbers, even if the clock goes backwards', async (t) => {
      const db = await open(t)
      const project = newProject()
      for (const [n, digest] of ['a', 'b', 'c', 'd'].entries()) {
        await keep(db, project, digest, { now: startedAt + ([5, 5, 2, 100][n] as number) })
      }
      await remove(db, project, ['a'])
      await keep(db, project, 'a', { now: startedAt + 200 })
      assert.deepEqual(
        (await allOf(db, project)).map((row) => row.created_at - startedAt),
        [5, 6, 7, 100],
      )
    })

    test('several versions are read by their digests', async (t) => {
      const db = await open(t)
      const project = newProject()
      for (const name of ['x', 'y'])
        for (const d of ['a', 'b']) await keep(db, project, d, { object_id: name })
      const found = await readVersions(db, project, [
        { name: 'x', digest: 'a' },
        { name: 'y', digest: 'a' },
        { name: 'z', digest: 'a' },
      ])
      assert.deepEqual(found.map((row) => `${row.object_id}:${row.digest}`).toSorted(), ['x:a', 'y:a'])
      const pairs = [
        { object_id: 'x', digest: 'b' },
        { object_id: 'y', digest: 'a' },
        { object_id: 'z', digest: 'b' },
      ]
      const values = await readValues(db, project, pairs)
      assert.deepEqual(values.map((row) => `${row.object_id}:${row.digest}`).toSorted(), ['x:b', 'y:a'])
      await db.write('changeTags', {
        project_id: project,
        object_id: 'x',
        version: 'b',
        add: ['t'],
        remove: [],
      })
      await db.write('changeTags', {
        project_id: project,
        object_id: 'x',
        version: 'a',
        add: ['s'],
        remove: [],
      })
      assert.deepEqual(
        (await readLabels(db, project, pairs)).map(({ tags }) => tags),
        [['t'], [], []],
      )
      assert.deepEqual(await readVersions(db, project, []), [])
      assert.deepEqual(await readValues(db, project, []), [])
      assert.deepEqual(await readLabels(db, project, []), [])
    })

    test('tags stay with a version, and an alias moves', async (t) => {
      const db = await open(t)
      const project = newProject()
      for (const digest of ['a', 'b']) await keep(db, project, digest)
      const of = { project_id: project, object_id: 'o' }
      const tag = (version: string, add: string[], remove: string[] = []) =>
        db.write('changeTags', { ...of, version, add, remove })
      const alias = (version: string, aliases: string[]) =>
        db.write('setAliases', { ...of, version, aliases })
      assert.equal(await tag('a', ['t', 's', 't']), true)
      assert.equal(await tag('v0', ['t'], ['s', 'never']), true)
      assert.equal(await tag('v2', ['t']), false)
      assert.equal(await alias('a', ['p', 'q']), 'set')
      assert.equal(await alias('latest', ['q', 'z']), 'set')
      assert.equal(await alias('nothing', ['q']), 'missing')
      await db.write('removeAliases', { ...of, aliases: ['z', 'never'] })
      const both = ['a', 'b'].map((digest) => ({ object_id: 'o', digest }))
      assert.deepEqual(await readLabels(db, project, both), [
        { tags: ['t'], aliases: ['p'] },
        { tags: [], aliases: ['q'] },
      ])
      assert.equal((await readObject(db, project, { name: 'o', digest: 'q' }))?.digest, 'b')
      await remove(db, project, ['b'])
      assert.equal(await readObject(db, project, { name: 'o', digest: 'q' }), undefined)
      assert.equal(await tag('b', ['t']), false)
    })

    test('a digest takes precedence over an equal alias', async (t) => {
      const db = await open(t)
      const project = newProject()
      for (const digest of ['a', 'b']) await keep(db, project, digest)
      await db.write('setAliases', { project_id: project, object_id: 'o', version: 'a', aliases: ['b'] })
      assert.equal((await readObject(db, project, { name: 'o', digest: 'b' }))?.digest, 'b')
    })

    test('every row belongs to a project', async (t) => {
      const db = await open(t)
      const [mine, theirs] = [newProject(), newProject()]
      await keep(db, mine, 'a')
      assert.equal(await readObject(db, theirs, { name: 'o', digest: 'a' }), undefined)
      assert.deepEqual(await remove(db, theirs, null), { missing: 'o' })
      const rows = await db.all(sql`SELECT digest FROM objects WHERE project_id = ${theirs}`)
      assert.deepEqual(rows, [])
    })
  })
}
