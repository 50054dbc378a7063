import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { now } from '../../../src/domain/time.ts'
import { removeSome } from '../../../src/storage/cold/cleaning.ts'
import { backupSqlite } from '../../../src/storage/engines/sqlite/maintenance.ts'
import { openRecord } from '../../../src/storage/open.ts'
import { project } from '../../support/calls.ts'
import { coldCall, coldParts, countOf, filesIn, moveAll, openWithCalls } from './cold-app.ts'

const never = new AbortController().signal

test('cold calls: a copy of a record leaves the store of the original alone until it is told', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-cold-owner-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const inFolder = (name: string) => join(folder, name)
  for (const name of ['first', 'second', 'store']) mkdirSync(inFolder(name))
  const cold = {
    ...{ cold_store: inFolder('store'), cold_endpoint: '', cold_region: '' },
    ...{ cold_key: '', cold_secret: '' },
  }
  const open = async (name: string) => {
    const db = await openRecord({ databaseUrl: '', folder: inFolder(name), queryTimeoutMs: 60_000, cold })
    await db.close()
  }
  await open('first')
  await open('first')
  const owner = readFileSync(inFolder('store/heddle-owner'), 'utf8').trim()
  backupSqlite(inFolder('first/heddle.db'), inFolder('second/heddle.db'))
  let own = ''
  for (let attempt = 1; attempt <= 2; attempt++) {
    const error = await open('second').then(
      () => 'it opened',
      ({ message }: Error) => message,
    )
    assert.ok(error.includes(owner), error)
    const [, is = ''] = /this is the record (\S+)\. /.exec(error) ?? []
    assert.ok(own === '' || own === is, error)
    own = is
  }
  writeFileSync(inFolder('store/heddle-owner'), own)
  await open('second')
  await assert.rejects(open('first'), /heddle-owner/)
})

test('cold calls: a folder without the name of the record is no store, and no file of it is forgotten', async (t) => {
  const call = coldCall('Kurt')
  const { database, folder, ok, read } = await openWithCalls(t, [call])
  await moveAll(database, project)
  await ok('/calls/delete', { project_id: project, call_ids: [call.id] })
  await database.write('dropColdFile', { project_id: project, id: 'x', remove_at: now() })
  renameSync(folder, `${folder}-disk`)
  // Where the disk is mounted.
  mkdirSync(folder)
  const parts = coldParts(database)
  await assert.rejects(removeSome(parts, now(), never), { code: 'cold_store_unreachable' })
  assert.equal(await countOf(database, 'cold_removals'), 1)
  const other = coldCall('Ida')
  await ok('/v2/acme/qa/calls/complete', { batch: [other] })
  await assert.rejects(moveAll(database, project), { code: 'cold_store_unreachable' })
  assert.equal((await read(other.id)).json.call.output, other.output)
  assert.deepEqual(filesIn(folder), [])
  rmSync(folder, { recursive: true })
  renameSync(`${folder}-disk`, folder)
  assert.equal(await removeSome(parts, now(), never), 1)
  assert.equal(await moveAll(database, project), 1)
})
