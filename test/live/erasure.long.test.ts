import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Sqlite from 'better-sqlite3'
import { hashKey } from '../../src/domain/keys.ts'
import { openRecord } from '../../src/storage/open.ts'
import { openApp } from '../support/app.ts'
import { completeOf, endOf, project, startOf } from '../support/calls.ts'
import { runCommand } from '../support/commands.ts'
import { newFolder, type RunningServer, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const admin = 'the-secret-key-of-ada'
const subject = { kind: 'end_user', value: 'grace.hopper@example.com' }
const secrets = ['grace.hopper', 'xylophonic', 'quokkawords', 'zeugmatic']

/** Secrets in the files of the folder, the log of the record included. */
async function leaksIn(folder: string): Promise<string[]> {
  const found: string[] = []
  for (const file of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue
    const content = (await readFile(join(file.parentPath, file.name), 'latin1')).toLowerCase()
    found.push(
      ...secrets.filter((secret) => content.includes(secret)).map((secret) => `${secret} in ${file.name}`),
    )
  }
  return found
}

async function withAdmin(t: TestContext) {
  const folder = await newFolder(t)
  const database = await openRecord({ databaseUrl: '', folder, queryTimeoutMs: 30_000 })
  await database.write('addUser', {
    user: { name: 'ada', role: 'admin', entities: ['acme'], created_at: 1 },
    key: { id: 'ada', hash: hashKey(admin) },
  })
  await database.close()
  return { folder, settings: { HEDDLE_DATA: folder, HEDDLE_SEARCH: 'on' } }
}

/** Calls, long and short, some with a note; of so many of them one is of the subject. */
async function fill(server: RunningServer, count: number, every: number): Promise<void> {
  for (let n = 0; n < count; n += 50) {
    const batch = Array.from({ length: 50 }, (_, index) => {
      const isOwn = (n + index) % every === 0
      const words = `${isOwn ? 'xylophonic' : 'ordinary'} words ${n + index} `
      return completeOf({
        inputs: { user: isOwn ? subject.value : 'someone', text: words.repeat(index % 7 === 0 ? 2_000 : 3) },
        output: isOwn ? 'quokkawords' : 'nothing',
      })
    })
    const written = await server.post('/v2/acme/qa/calls/complete', { batch })
    assert.equal(written.status, 200, await written.text())
    const notes = batch.slice(0, 10).map(({ id, inputs }) => ({
      ...{ project_id: project, svc_ref: `weave:///${project}/call/${id}`, feedback_type: 'wandb.note.1' },
      payload: { note: 'user' in inputs && inputs.user === subject.value ? 'zeugmatic' : 'fine' },
    }))
    const said = await server.post('/feedback/batch/create', { batch: notes })
    assert.equal(said.status, 200, await said.text())
  }
}

const erase = (server: RunningServer, fields: object = {}) =>
  server.post('/v2/acme/qa/erasures', { subject, ...fields }, { key: admin })

const ownCalls = async (server: RunningServer) => {
  const answer = await erase(server, { dry_run: true })
  return ((await answer.json()) as { erased: { calls: number } }).erased.calls
}

test('nothing of an erased person is left in the folder', async (t) => {
  const { folder, settings } = await withAdmin(t)
  const server = await startServer(t, settings)
  // So few that the index of words would keep them until much more is written.
  await fill(server, 400, 10)
  await until('the calls are indexed', async () => {
    const found = await server.post('/views/search', { project_id: project, text: 'xylophonic' })
    return ((await found.json()) as { found: unknown[]; indexed?: unknown }).found.length > 0
  })
  assert.ok((await leaksIn(folder)).length >= secrets.length, 'what is looked for is found while it is there')
  const answer = await erase(server)
  const text = await answer.text()
  assert.equal(answer.status, 200, text)
  const { erased, receipt } = JSON.parse(text)
  assert.deepEqual([erased.calls, erased.feedback], [40, 8])
  assert.deepEqual(receipt.storage, { engine: 'sqlite', overwritten: true })
  assert.deepEqual(await leaksIn(folder), [])
  const found = await server.post('/views/search', { project_id: project, text: 'xylophonic' })
  assert.equal(((await found.json()) as { found: unknown[] }).found.length, 0)
  await server.end('SIGTERM')
  assert.deepEqual(await leaksIn(folder), [])
  const checked = await runCommand(['db', 'check'], settings)
  assert.equal(checked.code, 0, checked.err + checked.out)
})

test('pages that an erasure frees are overwritten at once: another table may take one', async (t) => {
  const folder = await newFolder(t)
  const database = await openRecord({ databaseUrl: '', folder, queryTimeoutMs: 30_000 })
  const { post } = await openApp(t, { database })
  // Long enough that its end is in pages of its own.
  const call = completeOf({ inputs: { text: `${'long '.repeat(8_000)}xylophonic` } })
  assert.equal((await post('/v2/acme/qa/calls/complete', { batch: [call] })).status, 200)
  const key = { project_id: project, hash: 'of a subject' }
  const beginning = { ...key, kind: 'end_user' as const, id: 'erasure', now: 1 }
  await database.write('beginErasure', { ...beginning, by: { via: 'http', name: 'ada' } })
  const emptyLog = () => {
    const handle = new Sqlite(join(folder, 'heddle.db'))
    handle.pragma('wal_checkpoint(TRUNCATE)')
    handle.close()
  }
  emptyLog()
  assert.deepEqual(await leaksIn(folder), ['xylophonic in heddle.db'])
  await database.write('eraseCalls', { ...key, ids: [call.id], now: 2 })
  emptyLog()
  assert.deepEqual(await leaksIn(folder), [])
})

/** From the moment that so many calls are erased, the server's next write takes until it is killed. Returns what undoes it. */
function stopAfter(folder: string, erased: number): () => void {
  const file = join(folder, 'heddle.db')
  const run = (statement: string) => {
    const handle = new Sqlite(file)
    handle.exec(statement)
    handle.close()
  }
  run(`CREATE TRIGGER stops_after AFTER UPDATE OF swept_at ON calls
    WHEN (SELECT count(*) FROM calls WHERE swept_at IS NOT NULL) > ${erased}
    BEGIN SELECT count(*) FROM (WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c); END`)
  return () => run('DROP TRIGGER stops_after')
}

test('an erasure that was killed continues when it is asked for again, and its receipt counts all', async (t) => {
  const { folder, settings } = await withAdmin(t)
  const first = await startServer(t, settings)
  await fill(first, 1_000, 2)
  const before = await ownCalls(first)
  assert.equal(before, 500)
  const drop = stopAfter(folder, before / 2)
  const cut = erase(first).then(
    () => 'answered',
    () => 'cut',
  )
  await until('some are erased', async () => (await ownCalls(first)) < before)
  await first.end('SIGKILL')
  assert.equal(await cut, 'cut')
  drop()
  const second = await startServer(t, settings)
  const left = await ownCalls(second)
  assert.ok(left > 0 && left < before, `${left} of ${before}`)
  const { erased } = (await (await erase(second)).json()) as { erased: Record<string, number> }
  assert.deepEqual([erased.calls, erased.feedback], [500, 100])
  assert.equal(await ownCalls(second), 0)
  assert.deepEqual(await leaksIn(folder), [])
  await second.end('SIGTERM')
  const checked = await runCommand(['db', 'check'], settings)
  assert.equal(checked.code, 0, checked.err + checked.out)
})

test('a backup has nothing of it, also where parts of calls had moved rows of the file', async (t) => {
  const { folder, settings } = await withAdmin(t)
  const server = await startServer(t, settings)
  const write = async (n: number) => {
    const isOwn = n % 3 === 0
    const text = `${isOwn ? 'xylophonic' : 'ordinary'} ${n} `.repeat(1 + (n % 40))
    const start = startOf({ inputs: { user: isOwn ? subject.value : 'someone', text } })
    assert.equal((await server.post('/call/start', { start })).status, 200)
    const end = endOf(start.id, { output: isOwn ? `quokkawords ${text}` : text })
    assert.equal((await server.post('/call/end', { end })).status, 200)
  }
  for (let n = 0; n < 300; n += 30)
    await Promise.all(Array.from({ length: 30 }, (_, index) => write(n + index)))
  const { erased, receipt } = (await (await erase(server)).json()) as {
    erased: Record<string, number>
    receipt: { storage: { overwritten: boolean } }
  }
  assert.deepEqual([erased.calls, receipt.storage.overwritten], [100, true])
  const copies = await newFolder(t)
  const copied = await runCommand(['db', 'backup', join(copies, 'copy.db')], settings)
  assert.equal(copied.code, 0, copied.err)
  assert.deepEqual(await leaksIn(copies), [])
  const logs = (await leaksIn(folder)).filter((leak) => !leak.endsWith('heddle.db'))
  assert.deepEqual(logs, [], 'only pages of the database may have fragments')
})
