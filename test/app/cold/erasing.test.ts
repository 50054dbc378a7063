import assert from 'node:assert/strict'
import { renameSync } from 'node:fs'
import { test } from 'node:test'
import { now } from '../../../src/domain/time.ts'
import { cleanAtOnce, cleanSome, removeSome } from '../../../src/storage/cold/cleaning.ts'
import { moveSome } from '../../../src/storage/cold/moving.ts'
import type { OwnedStore } from '../../../src/storage/cold/store.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { project } from '../../support/calls.ts'
import { until } from '../../support/wait.ts'
import {
  admin,
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

const subject = { kind: 'end_user', value: 'grace@example.com' }

test('cold calls: an erasure finds them by their inputs, and leaves no byte in the store', async (t) => {
  const calls = [coldCall('Grace', 'grace@example.com'), coldCall('Kurt'), coldCall('Ida')]
  const { database, folder, ok, read } = await openWithCalls(t, calls)
  await moveAll(database, project)
  const before = await countOf(database, 'cold_users')
  const dry = await ok('/v2/acme/qa/erasures', { subject, dry_run: true }, admin)
  assert.equal(dry.erased.calls, 1)
  // It reads nothing of the store, and moves nothing.
  assert.equal(database.cold?.reading.counted.reads, 0)
  assert.equal(await moveAll(database, project), 0)
  assert.equal(before, 3)
  const { erased } = await ok('/v2/acme/qa/erasures', { subject }, admin)
  assert.equal(erased.calls, 1)
  assert.doesNotMatch(contentsOf(folder), /Grace|grace/)
  assert.match(contentsOf(folder), /Kurt/)
  assert.equal(await countOf(database, 'cold_users'), 2)
  for (const { id, output } of calls.slice(1)) assert.equal((await read(id)).json.call.output, output)
})

test('cold calls: a server without the store gives no receipt', async (t) => {
  const { database, post, ok } = await openWithCalls(t, [coldCall('Grace', 'grace@example.com')])
  await moveAll(database, project)
  const { cold } = database
  assert.ok(cold)
  Object.assign(cold, { store: undefined })
  for (const dry_run of [true, false]) {
    const { status, text } = await post('/v2/acme/qa/erasures', { subject, dry_run }, admin)
    assert.equal(status, 503)
    assert.match(text, /cold_store_unset/)
  }
  // Of a project that has nothing there it does.
  await ok('/v2/acme/other/erasures', { subject }, admin)
})

test('cold calls: an erasure ends what is being moved at that moment', async (t) => {
  const calls = [coldCall('Grace', 'grace@example.com'), coldCall('Kurt')]
  const { database, folder, ok, read, tidy } = await openWithCalls(t, calls)
  const { bare, store } = coldParts(database)
  let erasing: ReturnType<typeof ok> | undefined
  const slow: OwnedStore = {
    ...store,
    async write(file, bytes) {
      erasing = ok('/v2/acme/qa/erasures', { subject }, admin)
      await until('the call is erased', async () => (await read(calls[0]?.id ?? '')).status === 404)
      // The file appears after its call was erased.
      await store.write(file, bytes)
    },
  }
  await moveSome({ bare, store: slow }, project, { at: 0, id: '' }, now(), now(), never)
  assert.equal((await erasing)?.erased.calls, 1)
  assert.doesNotMatch(contentsOf(folder), /Grace/)
  assert.equal((await read(calls[1]?.id ?? '')).status, 200)
  await tidy()
  assert.equal(await countOf(database, 'cold_removals'), 0)
})

test('cold calls: an erasure finds what a deleted call, a thawed one and one of two names have', async (t) => {
  const inputs = (name: string, own: object) => ({ ...coldCall(name).inputs, ...own })
  const calls = [
    coldCall('Gone', subject.value),
    coldCall('Warm', subject.value),
    {
      ...coldCall('Two'),
      inputs: inputs('Two', { safety_identifier: 'x', metadata: { user_id: subject.value } }),
    },
    { ...coldCall('Other'), inputs: inputs('Other', { user: [subject.value] }) },
  ]
  const { database, folder, ok, read, post } = await openWithCalls(t, calls)
  await moveAll(database, project)
  const [gone, warm, , other] = calls
  await ok('/calls/delete', { project_id: project, call_ids: [gone?.id] })
  const row = await coldParts(database).bare.get<{ inputs: string }>(
    sql`SELECT inputs FROM calls WHERE id = ${warm?.id ?? ''}`,
  )
  assert.equal(await database.cold?.thaw([row?.inputs ?? '']), 1)
  assert.equal(await countOf(database, 'cold_users'), 5)
  const { erased } = await ok('/v2/acme/qa/erasures', { subject }, admin)
  assert.equal(erased.calls, 3)
  assert.doesNotMatch(contentsOf(folder), /question of (Gone|Warm|Two)/)
  assert.equal((await read(other?.id ?? '')).status, 200)
  assert.equal(await countOf(database, 'cold_users'), 1)
  const { status } = await post(
    '/v2/acme/qa/erasures',
    { subject: { ...subject, value: 'x' }, dry_run: true },
    admin,
  )
  assert.equal(status, 200)
})

test('cold calls: wherever a move or an erasure was cut short, the next one leaves nothing', async (t) => {
  const { database, folder, ok, read, tidy } = await openWithCalls(t, [coldCall('Ida')])
  for (const work of ['move', 'erasure']) {
    for (let step = 1, isOver = false; !isOver; step++) {
      const [grace, kurt] = [coldCall('Grace', subject.value), coldCall('Kurt')]
      await ok('/v2/acme/qa/calls/complete', { batch: [grace, kurt] })
      const ending = endingAt(step, coldParts(database))
      const time = now() - hour
      async function cutShort(): Promise<void> {
        if (work === 'move') {
          await moveSome(ending.parts, project, { at: 0, id: '' }, now(), time, never)
          return
        }
        await moveAll(database, project)
        await ok('/calls/delete', { project_id: project, call_ids: [grace.id] })
        await sweep(database)
        await cleanSome(ending.parts, project, { now: time, atOnce: true }, never)
        await removeSome(ending.parts, time, never)
      }
      await cutShort().catch(({ message }) => assert.equal(message, 'ended here'))
      isOver = ending.isOver()
      const { erased } = await ok('/v2/acme/qa/erasures', { subject }, admin)
      assert.equal(erased.calls, work === 'move' ? 1 : 0)
      assert.doesNotMatch(contentsOf(folder), /Grace/, `${work}, step ${step}`)
      assert.equal((await read(kurt.id)).status, 200)
      await tidy()
      assert.equal(filesIn(folder).length, await countOf(database, 'cold_files'))
    }
  }
})

test('cold calls: a receipt does not wait for readers of a file', async (t) => {
  const { database, folder, ok } = await openWithCalls(t, [
    coldCall('Grace', subject.value),
    coldCall('Kurt'),
  ])
  await moveAll(database, project)
  const [first] = filesIn(folder)
  const refs = await coldParts(database).bare.all<{ output: string }>(sql`SELECT output FROM calls`)
  await database.cold?.thaw(refs.map(({ output }) => output))
  // Written anew; the first waits for readers.
  assert.equal(await cleanSome(coldParts(database), undefined, { now: now(), atOnce: false }, never), 1)
  assert.ok(filesIn(folder).includes(first ?? ''))
  await ok('/v2/acme/qa/erasures', { subject }, admin)
  assert.doesNotMatch(contentsOf(folder), /Grace/)
  assert.equal(filesIn(folder).length, 1)
})

test('cold calls: a file with a deleted call that was not emptied yet is cleaned once', async (t) => {
  const calls = [coldCall('Deleted'), coldCall('Kurt'), coldCall('Swept')]
  const { database, folder, ok, read, tidy } = await openWithCalls(t, calls)
  await moveAll(database, project)
  const parts = coldParts(database)
  const remove = (index: number) =>
    ok('/calls/delete', { project_id: project, call_ids: [calls[index]?.id ?? ''] })
  await remove(2)
  await sweep(database)
  await remove(0)
  await cleanAtOnce(parts, project, never)
  assert.doesNotMatch(contentsOf(folder), /of Swept/)
  assert.equal(await countOf(database, 'cold_marks'), 0)
  assert.equal(await cleanSome(parts, undefined, { now: now(), atOnce: false }, never), 0)
  assert.equal((await read(calls[1]?.id ?? '')).status, 200)
  await sweep(database)
  await tidy()
  assert.doesNotMatch(contentsOf(folder), /of Deleted/)
  assert.match(contentsOf(folder), /of Kurt/)
})

test('cold calls: a project is deleted when its files are, and not without the store', async (t) => {
  const { database, folder, send } = await openWithCalls(t, [coldCall('Kurt'), coldCall('Ida')])
  await moveAll(database, project)
  const remove = () => send('DELETE', '/projects/acme/qa', { confirm: project }, admin)
  const { cold } = database
  assert.ok(cold)
  const { store } = cold
  Object.assign(cold, { store: undefined })
  assert.match((await remove()).text, /cold_store_unset/)
  assert.equal(await countOf(database, 'calls'), 2)
  Object.assign(cold, { store })
  renameSync(folder, `${folder}-away`)
  assert.match((await remove()).text, /cold_store_unreachable/)
  renameSync(`${folder}-away`, folder)
  // What a server does for a client that has left.
  const sweeping = { now: now() + 60_000_000, leftBefore: now() + 60_000_000 }
  while (await database.write('continueProjectDeletion', sweeping));
  const { status, text } = await remove()
  assert.equal(status, 200, text)
  assert.deepEqual(filesIn(folder), [])
  for (const table of ['cold_files', 'cold_marks', 'cold_users', 'cold_removals', 'projects']) {
    assert.equal(await countOf(database, table), 0, table)
  }
})
