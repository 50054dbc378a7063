import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { hashKey } from '../../../src/domain/keys.ts'
import { now } from '../../../src/domain/time.ts'
import { cleanSome, removeSome } from '../../../src/storage/cold/cleaning.ts'
import { moveSome } from '../../../src/storage/cold/moving.ts'
import type { OwnedStore } from '../../../src/storage/cold/owner.ts'
import type { Database } from '../../../src/storage/database.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { openApp } from '../../support/app.ts'
import { completeOf, project } from '../../support/calls.ts'
import { coldParts, contentsOf, filesIn, moveAll, openColdRecord } from '../../support/cold.ts'
import { until } from '../../support/wait.ts'

const never = new AbortController().signal
const hour = 3_600_000_000
const admin = 'the-secret-key-of-ada'

const long = (text: string) => `${text} ${'lorem ipsum dolor sit amet '.repeat(20)}`

function coldCall(name: string, user = 'nobody') {
  const id = randomUUID()
  return completeOf({
    id,
    trace_id: id,
    inputs: { question: long(`question of ${name}`), user },
    output: long(`answer for ${name}`),
  })
}

async function openWithCalls(t: TestContext, calls: ReturnType<typeof completeOf>[]) {
  const cold = await openColdRecord(t)
  const app = await openApp(t, { database: cold.database })
  await app.database.write('addUser', {
    user: { name: 'ada', role: 'admin', entities: ['acme'], created_at: 1 },
    key: { id: 'ada', hash: hashKey(admin) },
  })
  const ok = async (url: string, body: object, key?: string) => {
    const { status, json, text } = await app.post(url, body, key)
    assert.equal(status, 200, text)
    return json
  }
  await ok('/v2/acme/qa/calls/complete', { batch: calls })
  const read = (id: string) => app.post('/call/read', { project_id: project, id })
  /** Everything that background work would do within hours. */
  const tidy = async (time = now() + 3 * hour) => {
    const parts = coldParts(cold.database)
    while ((await cleanSome(parts, undefined, { now: time, atOnce: false }, never)) > 0);
    for (const later of [0, 2, 4]) await removeSome(parts, time + later * hour, never)
  }
  return { ...cold, ...app, ok, read, tidy }
}

const count = async ({ cold }: Database, table: 'cold_files' | 'cold_marks' | 'cold_removals') => {
  const rows = await cold?.bare.all<{ n: number }>(
    table === 'cold_files'
      ? sql`SELECT count(*) AS n FROM cold_files`
      : table === 'cold_marks'
        ? sql`SELECT count(*) AS n FROM cold_marks`
        : sql`SELECT count(*) AS n FROM cold_removals`,
  )
  return Number(rows?.[0]?.n)
}

const sweep = (db: Database) =>
  db.write('sweepCalls', { now: now() + hour, forgetBefore: 0, limit: 100, bytes: 1 << 20 })

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
    assert.equal(await count(database, table), 0, table)
  }
})

test('cold calls: an erasure finds them by their inputs, and leaves no byte in the store', async (t) => {
  const calls = [coldCall('Grace', 'grace@example.com'), coldCall('Kurt'), coldCall('Ida')]
  const { database, folder, ok, read } = await openWithCalls(t, calls)
  await moveAll(database, project)
  const subject = { kind: 'end_user', value: 'grace@example.com' }
  const dry = await ok('/v2/acme/qa/erasures', { subject, dry_run: true }, admin)
  assert.equal(dry.erased.calls, 1)
  await moveAll(database, project)
  const { erased } = await ok('/v2/acme/qa/erasures', { subject }, admin)
  assert.equal(erased.calls, 1)
  assert.doesNotMatch(contentsOf(folder), /Grace|grace/)
  assert.match(contentsOf(folder), /Kurt/)
  for (const { id, output } of calls.slice(1)) assert.equal((await read(id)).json.call.output, output)
})

test('cold calls: a server without the store gives no receipt', async (t) => {
  const { database, post, ok } = await openWithCalls(t, [coldCall('Grace', 'grace@example.com')])
  const subject = { kind: 'end_user', value: 'grace@example.com' }
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
  const subject = { kind: 'end_user', value: 'grace@example.com' }
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
  assert.equal(await count(database, 'cold_removals'), 0)
})

test('cold calls: a deleted project leaves no file', async (t) => {
  const { database, folder, send, tidy } = await openWithCalls(t, [coldCall('Kurt')])
  await moveAll(database, project)
  const { status, text } = await send('DELETE', '/projects/acme/qa', { confirm: project }, admin)
  assert.equal(status, 200, text)
  await tidy()
  assert.deepEqual(filesIn(folder), [])
  assert.equal(await count(database, 'cold_files'), 0)
})

/** Fails at its n-th step, as if the server had ended there: what was written before stays. */
function endingAt(step: number, { bare, store }: { bare: Database; store: OwnedStore }) {
  let steps = 0
  const next = () => {
    if (++steps === step) throw new Error('ended here')
  }
  const ending: Database = {
    ...bare,
    write: (async (...given: Parameters<Database['write']>) => {
      next()
      const answer = await bare.write(...given)
      next()
      return answer
    }) as Database['write'],
  }
  return {
    parts: {
      bare: ending,
      store: {
        ...store,
        async write(file: string, bytes: Buffer) {
          next()
          await store.write(file, bytes)
          next()
        },
        async remove(file: string) {
          next()
          await store.remove(file)
          next()
        },
      },
    },
    isOver: () => steps < step,
  }
}

test('cold calls: whichever step of a move or a cleaning is the last, nothing is lost or doubled', async (t) => {
  const calls = Array.from({ length: 70 }, (_, index) => coldCall(`K${index}`))
  const { database, folder, ok, read, tidy } = await openWithCalls(t, calls)
  const parts = coldParts(database)
  const whole = async () => {
    for (const { id, inputs, output } of calls) {
      const { json, text } = await read(id)
      assert.deepEqual([json.call?.inputs, json.call?.output], [inputs, output], text)
    }
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
  assert.equal(filesIn(folder).length, await count(database, 'cold_files'))
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
