import assert from 'node:assert/strict'
import { readFileSync, renameSync, rmSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { now } from '../../../src/domain/time.ts'
import { startIndexing } from '../../../src/operations/views/index-in-background.ts'
import { cleanSome, removeSome } from '../../../src/storage/cold/cleaning.ts'
import { moveSome } from '../../../src/storage/cold/moving.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { project } from '../../support/calls.ts'
import { until } from '../../support/wait.ts'
import {
  coldCall,
  coldParts,
  contentsOf,
  countOf,
  endingAt,
  filesIn,
  hour,
  moveAll,
  never,
  openWithCalls,
  sweep,
} from './cold-app.ts'

test('cold calls: files are written anew without deleted calls, and removed with the last', async (t) => {
  const [kept, gone] = [coldCall('Kurt'), coldCall('Gina')]
  const { database, folder, ok, read, tidy } = await openWithCalls(t, [kept, gone])
  const before = (await read(kept.id)).text
  assert.equal(await moveAll(database, project), 2)
  assert.match(contentsOf(folder), /Gina/)
  await ok('/calls/delete', { project_id: project, call_ids: [gone.id] })
  await sweep(database)
  await tidy()
  assert.equal(filesIn(folder).length, 1)
  assert.doesNotMatch(contentsOf(folder), /Gina/)
  assert.equal((await read(kept.id)).text, before)
  await ok('/calls/delete', { project_id: project, call_ids: [kept.id] })
  await sweep(database)
  await tidy()
  assert.deepEqual(filesIn(folder), [])
  for (const table of ['cold_files', 'cold_marks', 'cold_removals'] as const) {
    assert.equal(await countOf(database, table), 0, table)
  }
})

test('cold calls: whichever step of a move or a cleaning is the last, nothing is lost or doubled', async (t) => {
  const calls = Array.from({ length: 70 }, (_, index) => coldCall(`K${index}`))
  const { database, folder, ok, read, tidy } = await openWithCalls(t, calls)
  const parts = coldParts(database)
  const whole = async () => {
    for (const { id, inputs, output } of calls) {
      const { json, text } = await read(id)
      assert.deepEqual([json.call?.inputs, json.call?.output], [inputs, output], text)
    }
    // An erasure would find each.
    const cold = await parts.bare.get<{ n: number }>(
      sql`SELECT count(*) AS n FROM calls WHERE substr(inputs, 1, 1) = ' '`,
    )
    assert.equal(await countOf(database, 'cold_users'), Number(cold?.n))
  }
  for (let step = 1, isOver = false; !isOver; step++) {
    const ending = endingAt(step, parts)
    const time = now()
    await moveSome(ending.parts, project, { at: 0, id: '' }, time, time, never).catch((error) =>
      assert.equal(error.message, 'ended here'),
    )
    isOver = ending.isOver()
    await whole()
    await tidy()
    await whole()
    // Back into the record.
    const refs = (
      await parts.bare.all<{ inputs: string; output: string }>(sql`SELECT inputs, output FROM calls`)
    ).flatMap(({ inputs, output }) => [inputs, output].filter((value) => value.startsWith(' ')))
    await database.cold?.thaw(refs)
    await tidy()
    assert.deepEqual(filesIn(folder), [], `step ${step}`)
  }
  await moveAll(database, project)
  const gone = calls.splice(0, 40)
  await ok('/calls/delete', { project_id: project, call_ids: gone.map(({ id }) => id) })
  await sweep(database)
  for (let step = 1, isOver = false; !isOver; step++) {
    const ending = endingAt(step, parts)
    const time = now() + 3 * hour
    await cleanSome(ending.parts, undefined, { now: time, atOnce: true }, never)
      .then(() => removeSome(ending.parts, time, never))
      .catch((error) => assert.equal(error.message, 'ended here'))
    isOver = ending.isOver()
    await whole()
  }
  await tidy()
  assert.equal(filesIn(folder).length, await countOf(database, 'cold_files'))
  assert.doesNotMatch(contentsOf(folder), /of K0 /)
  await whole()
})

test('cold calls: two servers that move the same calls write each reference once', async (t) => {
  const calls = Array.from({ length: 100 }, (_, index) => coldCall(`K${index}`))
  const { database, folder, read, tidy } = await openWithCalls(t, calls)
  const parts = coldParts(database)
  const time = now()
  const start = { at: 0, id: '' }
  await Promise.all([1, 2].map(() => moveSome(parts, project, start, time, time, never)))
  await tidy()
  for (const { id, inputs, output } of calls) {
    const { json } = await read(id)
    assert.deepEqual([json.call.inputs, json.call.output], [inputs, output])
  }
  const counted = await parts.bare.all<{ calls: number }>(sql`SELECT calls FROM cold_files`)
  assert.equal(
    counted.reduce((sum, { calls: n }) => sum + Number(n), 0),
    calls.length,
  )
  assert.equal(filesIn(folder).length, counted.length)
})

test('cold calls: damage is named, and other calls are read', async (t) => {
  for (const damage of [
    (path: string) => unlinkSync(path),
    (path: string) => truncateSync(path, 100),
    (path: string) => {
      const bytes = readFileSync(path)
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 255
      writeFileSync(path, bytes)
    },
  ]) {
    const [cold, warm] = [coldCall('Kurt'), coldCall('Wanda')]
    const { database, folder, read, ok } = await openWithCalls(t, [cold])
    await moveAll(database, project)
    await ok('/v2/acme/qa/calls/complete', { batch: [warm] })
    for (const path of filesIn(folder)) damage(path)
    const { status, json } = await read(cold.id)
    assert.deepEqual([status, json.code], [503, 'cold_file_damaged'])
    assert.equal((await read(warm.id)).status, 200)
  }
})

test('cold calls: what a store confirms and does not have replaces no text', async (t) => {
  const call = coldCall('Kurt')
  const { database, read } = await openWithCalls(t, [call])
  const { bare, store } = coldParts(database)
  const forgetful = { bare, store: { ...store, write: async () => undefined } }
  await assert.rejects(moveSome(forgetful, project, { at: 0, id: '' }, now(), now(), never), {
    code: 'cold_file_damaged',
  })
  assert.deepEqual((await read(call.id)).json.call.inputs, call.inputs)
})

test('cold calls: while the store is away, words of other calls are found', async (t) => {
  const cold = coldCall('Kurt')
  const { database, folder, ok } = await openWithCalls(t, [cold])
  assert.equal(await moveAll(database, project), 1)
  renameSync(folder, `${folder}-away`)
  t.after(() => rmSync(`${folder}-away`, { recursive: true }))
  await ok('/call/update', { project_id: project, call_id: cold.id, display_name: 'renamed' })
  const warm = coldCall('zeugmatic')
  await ok('/v2/acme/qa/calls/complete', { batch: [warm] })
  const indexing = startIndexing(database, true, (error) => assert.fail(String(error)))
  t.after(() => indexing.stop())
  await until('the other call is found', async () => {
    const { found } = await ok('/views/search', { project_id: project, text: 'zeugmatic' })
    return found.length === 1
  })
})
