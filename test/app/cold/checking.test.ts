import assert from 'node:assert/strict'
import { readFileSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { findWrongBatches, findWrongCalls } from '../../../src/storage/calls/check.ts'
import { cleanAtOnce, missingFiles } from '../../../src/storage/cold/cleaning.ts'
import type { Database } from '../../../src/storage/database.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { project } from '../../support/calls.ts'
import {
  admin,
  coldCall,
  coldParts,
  countOf,
  filesIn,
  folderWith,
  moveAll,
  never,
  openWithCalls,
  sweep,
  type Taken,
} from './cold-app.ts'

const wrong = async (database: Database) => {
  const found: string[] = []
  for await (const { id, derived } of findWrongCalls(boundTo(database, never)))
    found.push(`${id} ${derived.at(-1)}`)
  return found
}

test('cold calls: a check finds wrong users of cold calls, and another derivation corrects them', async (t) => {
  const calls = ['Ada', 'Grace', 'Ida'].map((name) => coldCall(name, `${name}@example.com`))
  const { database, ok, read } = await openWithCalls(t, calls)
  const [ada, grace, ida] = calls.map(({ id }) => id) as [string, string, string]
  await moveAll(database, project)
  const warm = coldCall('Warm')
  await ok('/v2/acme/qa/calls/complete', { batch: [warm] })
  assert.deepEqual(await wrong(database), [])
  // No server writes such rows.
  const { bare } = coldParts(database)
  await bare.all(sql`DELETE FROM cold_users WHERE call_id = ${ada} RETURNING call_id`)
  for (const id of [grace, warm.id, 'gone']) {
    await bare.all(
      sql`INSERT INTO cold_users (project_id, end_user, call_id) VALUES (${project}, 'x', ${id}) RETURNING call_id`,
    )
  }
  assert.deepEqual(
    (await wrong(database)).sort(),
    [ada, grace, 'gone', warm.id].map((id) => `${id} end users`).sort(),
  )
  for await (const batch of findWrongBatches(boundTo(database, never), { limit: 64, characters: 1 << 20 })) {
    const ids = batch.map(({ id }) => id)
    await database.write('deriveAgain', { project_id: project, calls: ids, now: 1 })
  }
  assert.deepEqual(await wrong(database), [])
  await moveAll(database, project)
  assert.deepEqual(await wrong(database), [])
  assert.equal(await countOf(database, 'cold_users'), 4)
  for (const { id, inputs } of calls) assert.deepEqual((await read(id)).json.call.inputs, inputs)
  const subject = { kind: 'end_user', value: 'Ada@example.com' }
  assert.equal((await ok('/v2/acme/qa/erasures', { subject }, admin)).erased.calls, 1)
  assert.equal((await read(ida)).status, 200)
})

test('cold calls: a check names damaged files, and none that was written anew meanwhile', async (t) => {
  const damages: [(path: string) => void, string][] = [
    [unlinkSync, 'is missing'],
    [(path) => truncateSync(path, 100), 'is damaged'],
    [damageEnd, 'is damaged'],
  ]
  for (const [damage, is] of damages) {
    const calls = Array.from({ length: 60 }, (_, index) => coldCall(`K${index}`))
    const taken: Taken = {}
    const { database, folder, ok } = await openWithCalls(t, calls, (path) => folderWith(path, taken))
    await moveAll(database, project)
    assert.deepEqual(await missingFiles(boundTo(database, never), 9), [])
    taken.before = async () => {
      await ok('/calls/delete', { project_id: project, call_ids: [calls[0]?.id] })
      await sweep(database)
      await cleanAtOnce(coldParts(database), project, never)
    }
    assert.deepEqual(await missingFiles(boundTo(database, never), 9), [])
    const [path = ''] = filesIn(folder)
    damage(path)
    const [problem = '', ...more] = await missingFiles(boundTo(database, never), 9)
    assert.deepEqual(more, [])
    assert.ok(problem.includes(`${path.slice(-41, -5)} of 59 calls in ${project} ${is}`), problem)
  }
})

function damageEnd(path: string): void {
  const bytes = readFileSync(path)
  bytes[bytes.length - 9] = (bytes[bytes.length - 9] as number) ^ 255
  writeFileSync(path, bytes)
}

test('cold calls: an erasure that a damaged file prevents names it, and is done when its calls are deleted', async (t) => {
  const calls = [coldCall('Grace', 'grace@example.com'), coldCall('Kurt')]
  const { database, folder, ok, post } = await openWithCalls(t, calls)
  await moveAll(database, project)
  const [path = ''] = filesIn(folder)
  truncateSync(path, 100)
  const body = { subject: { kind: 'end_user', value: 'grace@example.com' } }
  const { status, json } = await post('/v2/acme/qa/erasures', body, admin)
  assert.deepEqual([status, json.code], [503, 'cold_file_damaged'])
  assert.ok(json.reason.includes(path.slice(-41, -5)), json.reason)
  const { call_ids } = (await coldParts(database).bare.get<{ call_ids: string }>(
    sql`SELECT call_ids FROM cold_files`,
  )) as { call_ids: string }
  await ok('/calls/delete', { project_id: project, call_ids: JSON.parse(call_ids) })
  await sweep(database)
  await ok('/v2/acme/qa/erasures', body, admin)
  assert.deepEqual(filesIn(folder), [])
})
