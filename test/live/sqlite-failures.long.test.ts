import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import Sqlite from 'better-sqlite3'
import { newId } from '../../src/domain/ids.ts'
import { openSqlite } from '../../src/storage/engines/sqlite/open.ts'
import { sqliteFile } from '../../src/storage/open.ts'
import { newProject, startPart } from '../support/call-parts.ts'
import { project, startOf } from '../support/calls.ts'
import { runCommand } from '../support/commands.ts'
import { type DiskLimit, limitDiskSize, limitFileSize, unprivilegedPrefix } from '../support/limited-disk.ts'
import { refusedWith } from '../support/refusals.ts'
import { newFolder, type RunningServer, runHeddle, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

async function refusalOf(answer: Response): Promise<[status: number, code: string]> {
  const { code } = (await answer.json()) as { code: string }
  return [answer.status, code]
}

async function idsOf(server: RunningServer): Promise<Set<string>> {
  const answer = await server.post('/calls/stream_query', { project_id: project, columns: ['id'] })
  assert.equal(answer.status, 200)
  const lines = (await answer.text()).split('\n').filter(Boolean)
  return new Set(lines.map((line) => (JSON.parse(line) as { id: string }).id))
}

/** Writes until the store refuses; returns the acknowledged ids and the refusal. */
async function fill(server: RunningServer, bytes: number) {
  const acknowledged: string[] = []
  for (let i = 0; i < 2_000; i++) {
    const id = randomUUID()
    const start = startOf({ id, inputs: { text: 'x'.repeat(bytes) } })
    const answer = await server.post('/call/start', { start })
    if (answer.status !== 200) return { acknowledged, refusal: await refusalOf(answer) }
    await answer.text()
    acknowledged.push(id)
  }
  throw new Error('the store was never full')
}

async function refusesAndRecovers(
  server: RunningServer,
  { lift }: DiskLimit,
  code: 'storage_full' | 'storage_failed',
): Promise<string[]> {
  const large = await fill(server, 100_000)
  assert.deepEqual(
    await refusalOf(await server.get('/ready')),
    [503, code],
    'even if a probe would still fit',
  )
  const small = await fill(server, 100)
  assert.deepEqual(large.refusal, [503, code])
  assert.deepEqual(small.refusal, [503, code])
  const acknowledged = [...large.acknowledged, ...small.acknowledged]
  assert.ok(acknowledged.length > 0)

  assert.deepEqual(await refusalOf(await server.get('/ready')), [503, code], 'a probe reports the same')
  const read = await server.post('/call/read', { project_id: project, id: acknowledged[0] })
  assert.equal(read.status, 200, 'reads still work')
  assert.deepEqual(await idsOf(server), new Set(acknowledged))
  assert.equal((await server.get('/health')).status, 200)

  lift(server.process.pid as number)
  const id = randomUUID()
  const inputs = { text: 'x'.repeat(100_000) }
  assert.equal((await server.post('/call/start', { start: startOf({ id, inputs }) })).status, 200)
  await until('/ready tells it', async () => (await server.get('/ready')).status === 200)
  acknowledged.push(id)
  assert.deepEqual(await idsOf(server), new Set(acknowledged))
  return acknowledged
}

describe('a disk', () => {
  test('that is full: writes are refused, reads still work, and freed space is used', async (t) => {
    const folder = await newFolder(t)
    const disk = limitDiskSize(folder, 8 << 20)
    if (disk === undefined) return t.skip('this user may not mount a small disk')
    const server = await startServer(t, { HEDDLE_DATA: folder }, disk.before)
    await refusesAndRecovers(server, disk, 'storage_full')
    assert.equal(await server.end('SIGTERM'), 0)
  })

  test('that fails: the same, and a kill loses nothing that was acknowledged', async (t) => {
    const folder = await newFolder(t)
    const limit = limitFileSize(8_000)
    if (limit === undefined) return t.skip('the size of files cannot be limited here')
    const server = await startServer(t, { HEDDLE_DATA: folder }, limit.before)
    const acknowledged = await refusesAndRecovers(server, limit, 'storage_failed')
    await server.end('SIGKILL')
    const again = await startServer(t, { HEDDLE_DATA: folder })
    assert.deepEqual(await idsOf(again), new Set(acknowledged))
    assert.equal(await again.end('SIGTERM'), 0)
  })

  test('that is full from the start: one line says so', async (t) => {
    const folder = await newFolder(t)
    const limit = limitFileSize(16)
    if (limit === undefined) return t.skip('the size of files cannot be limited here')
    await failsInOneLine(folder, /cannot be opened or written|disk is full/, limit.before)
  })

  test('that has become full without a byte left: one line says so', async (t) => {
    const { file } = await newRecord(t)
    const folder = await newFolder(t)
    const disk = limitDiskSize(folder, 8 << 20)
    if (disk === undefined) return t.skip('no small disk can be mounted here')
    const script = `cp "$0" "$1" && { head -c 8M /dev/zero >"$1/more" 2>/dev/null; shift; exec "$@"; }`
    await failsInOneLine(folder, /the disk is full/, [...disk.before, 'sh', '-c', script, file, folder])
  })
})

/** Checks that the command exits with 3 and one line that names the file or folder. */
async function failsInOneLine(
  folder: string,
  words: RegExp,
  before: readonly string[] = [],
  args: readonly string[] = ['serve'],
): Promise<void> {
  const { code, out, err } = await runHeddle(args, { HEDDLE_DATA: folder }, before)
  assert.match(err, words)
  assert.equal(err.trim().split('\n').length, 1, err)
  assert.ok(err.includes(folder) || /^The record/.test(err), err)
  assert.equal(code, 3)
  assert.equal(out, '')
}

/** Creates a record with some calls, and closes it. */
async function newRecord(
  t: TestContext,
  calls = 1,
): Promise<{ folder: string; file: string; ids: string[] }> {
  const folder = await newFolder(t)
  const file = sqliteFile(folder)
  const db = await openSqlite({ file })
  const ids = Array.from({ length: calls }, () => newId())
  const inputs = JSON.stringify({ text: 'x'.repeat(500) })
  await db.write(
    'upsertCalls',
    ids.map((id) => startPart(project, id, { inputs })),
  )
  await db.close()
  return { folder, file, ids }
}

function lockOf(t: TestContext, file: string): { release(): void } {
  const other = new Sqlite(file)
  other.exec('BEGIN EXCLUSIVE')
  t.after(() => other.close())
  return { release: () => other.exec('ROLLBACK') }
}

// Each test waits for SQLite's busy timeout, so they run concurrently.
describe('a file that another program has locked', { concurrency: true }, () => {
  test('refuses writes, allows reads, and accepts writes when it is free', async (t) => {
    const { folder, file, ids } = await newRecord(t)
    const server = await startServer(t, { HEDDLE_DATA: folder })
    const lock = lockOf(t, file)
    const write = server.post('/call/start', { start: startOf() })
    for (let i = 0; i < 5; i++) {
      assert.equal((await server.post('/call/read', { project_id: project, id: ids[0] })).status, 200)
      assert.equal((await server.get('/health')).status, 200)
    }
    assert.deepEqual(await refusalOf(await write), [503, 'storage_busy'])
    lock.release()
    assert.equal((await server.post('/call/start', { start: startOf() })).status, 200)
    assert.equal(await server.end('SIGTERM'), 0)
  })

  test('cannot be served, and a line says so', async (t) => {
    const { folder, file } = await newRecord(t)
    lockOf(t, file)
    await failsInOneLine(folder, /is locked by another program/)
  })

  test('does not end the writer when it reclaims space', async (t) => {
    const { file } = await newRecord(t)
    const db = await openSqlite({ file })
    const lock = lockOf(t, file)
    await db.reclaim()
    await assert.rejects(db.write('probe', { at: 1 }), refusedWith('storage_busy'))
    lock.release()
    await db.write('upsertCalls', [startPart(newProject(), 'call')])
    await db.close()
  })
})

describe('a file that is not ours to open', () => {
  test('garbage: one line', async (t) => {
    const folder = await newFolder(t)
    const garbage = Buffer.alloc(8192, 'not a database ')
    writeFileSync(sqliteFile(folder), garbage)
    await failsInOneLine(folder, /damaged or not a database/)
    await failsInOneLine(folder, /damaged or not a database/, [], ['db', 'check'])
    assert.deepEqual(readFileSync(sqliteFile(folder)), garbage)
  })

  test('the database of another program: one line, and nothing is changed', async (t) => {
    const folder = await newFolder(t)
    const file = sqliteFile(folder)
    const other = new Sqlite(file)
    other.exec('CREATE TABLE things (id TEXT PRIMARY KEY); INSERT INTO things VALUES (1)')
    other.close()
    const before = readFileSync(file)
    await failsInOneLine(folder, /is the database of another program/)
    assert.deepEqual(readFileSync(file), before)
    assert.deepEqual(readdirSync(folder), ['heddle.db'])
  })

  test('the record of a newer version: one line, and nothing is changed', async (t) => {
    const { folder, file } = await newRecord(t)
    const newer = new Sqlite(file)
    newer.exec(`INSERT INTO heddle_migrations SELECT max(version) + 1, '9999_later.sql', 'later', 1 FROM heddle_migrations;
      PRAGMA user_version = 9999; CREATE TABLE later (id TEXT)`)
    newer.close()
    const before = readFileSync(file)
    for (const args of [['serve'], ['db', 'migrate'], ['user', 'list']]) {
      await failsInOneLine(folder, /written by a newer Heddle/, [], args)
    }
    assert.deepEqual(readFileSync(file), before)
    assert.deepEqual(readdirSync(folder), ['heddle.db'])
  })

  test('a record with other migrations: one line, and nothing is changed', async (t) => {
    const { folder, file } = await newRecord(t)
    const other = new Sqlite(file)
    other.exec("UPDATE heddle_migrations SET checksum = 'other' WHERE version = 1")
    other.close()
    const before = readFileSync(file)
    await failsInOneLine(folder, /a different history/)
    assert.deepEqual(readFileSync(file), before)
  })

  test('a folder that is a file: one line', async (t) => {
    const folder = join(await newFolder(t), 'taken')
    writeFileSync(folder, '')
    await failsInOneLine(folder, /cannot be created/)
  })

  test('a folder that cannot be created, also deep inside another: one line', async (t) => {
    if (process.platform !== 'linux') return t.skip('/proc is of Linux')
    for (const folder of ['/proc/heddle', '/proc/heddle/data/record'])
      await failsInOneLine(folder, /cannot be created/)
  })

  test('a folder without permission to write: one line', async (t) => {
    const someone = unprivilegedPrefix()
    if (someone === undefined) return t.skip('permissions do not bind this user')
    const { folder, file } = await newRecord(t)
    const empty = join(folder, 'empty')
    mkdirSync(empty)
    for (const path of [file, empty, folder]) {
      if (someone.length > 0) chownSync(path, 65534, 65534)
      chmodSync(path, path === file ? 0o444 : 0o555)
    }
    try {
      await failsInOneLine(folder, /cannot be opened or written/, someone)
      await failsInOneLine(empty, /cannot be opened or written/, someone)
      await failsInOneLine(join(folder, 'new'), /cannot be created/, someone)
    } finally {
      for (const path of [folder, empty]) chmodSync(path, 0o755)
    }
  })
})

test('a file that can only be read is served, and one line without a stack says so', async (t) => {
  const someone = unprivilegedPrefix()
  if (someone === undefined) return t.skip('permissions do not bind this user')
  const { folder, file } = await newRecord(t)
  for (const path of [file, folder]) if (someone.length > 0) chownSync(path, 65534, 65534)
  chmodSync(file, 0o444)
  const server = await startServer(t, { HEDDLE_DATA: folder }, someone)
  const entries = server.log.map((line) => JSON.parse(line))
  const lines = entries.filter(({ work, msg }) => /audit log/.test(`${work} ${msg}`))
  assert.deepEqual(
    lines.map(({ code, err }) => [code, err]),
    [['storage_read_only', undefined]],
  )
  for (let i = 0; i < 2; i++) {
    const write = await server.post('/call/start', { start: startOf() })
    assert.deepEqual(await refusalOf(write), [503, 'storage_read_only'], 'the writer still answers')
  }
  assert.equal(await server.end('SIGTERM'), 0)
})

describe('a damaged page', () => {
  /** Overwrites some leaf pages of the calls table, by default every other one. */
  async function damagedRecord(
    t: TestContext,
    { calls = 200, choose = (leaf: number, _of: number): boolean => leaf % 2 === 1 } = {},
  ) {
    const record = await newRecord(t, calls)
    const handle = new Sqlite(record.file)
    const size = handle.pragma('page_size', { simple: true }) as number
    const leaves = handle
      .prepare("SELECT pageno FROM dbstat WHERE name = 'calls' AND pagetype = 'leaf' ORDER BY path")
      .pluck()
      .all() as number[]
    handle.close()
    const bytes = readFileSync(record.file)
    const damaged = leaves.filter((_, i) => choose(i, leaves.length))
    assert.ok(damaged.length > 0 && leaves.length > 5)
    for (const page of damaged) bytes.fill(0xa5, (page - 1) * size, page * size)
    writeFileSync(record.file, bytes)
    return record
  }

  test('is reported as damage to clients that read it, and does not end the server', async (t) => {
    const { folder, ids } = await damagedRecord(t)
    const server = await startServer(t, { HEDDLE_DATA: folder })
    const stream = await server.post('/calls/stream_query', { project_id: project })
    assert.deepEqual(await refusalOf(stream), [503, 'storage_corrupt'])
    const statuses = new Map<number, number>()
    for (const id of ids) {
      const answer = await server.post('/call/read', { project_id: project, id })
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      if (answer.status !== 200) assert.deepEqual(await refusalOf(answer), [503, 'storage_corrupt'])
    }
    assert.ok((statuses.get(200) ?? 0) > 0 && (statuses.get(503) ?? 0) > 0, 'undamaged calls can be read')
    assert.equal((await server.get('/health')).status, 200)
    await server.end('SIGTERM')
  })

  test('cuts off an answer that has begun, so that its client notices', async (t) => {
    const last = { calls: 3_000, choose: (leaf: number, of: number) => leaf === of - 1 }
    const { folder } = await damagedRecord(t, last)
    const server = await startServer(t, { HEDDLE_DATA: folder })
    const answer = await server.post('/calls/stream_query', { project_id: project })
    assert.equal(answer.status, 200)
    await assert.rejects(answer.text(), /terminated/)
    // Background work meets the page as well, and logs its own lines.
    const said = () =>
      server.log
        .map((line) => JSON.parse(line))
        .filter(({ level, reqId }) => level > 30 && reqId !== undefined)
    await until('it is said', () => said().length > 0)
    assert.deepEqual(
      said().map(({ code, user, err }) => [code, user, err]),
      [['storage_corrupt', 'alice', undefined]],
    )
    await server.end('SIGTERM')
  })

  test('is found by `heddle db check`', async (t) => {
    const { folder, file } = await damagedRecord(t)
    const damaged = await runCommand(['db', 'check'], { HEDDLE_DATA: folder })
    assert.equal(damaged.code, 1, damaged.err)
    assert.match(damaged.err, /page/i)
    assert.equal(damaged.out, '')
    rmSync(file)
    const fresh = await newRecord(t)
    const sound = await runCommand(['db', 'check'], { HEDDLE_DATA: fresh.folder })
    assert.deepEqual([sound.code, sound.err], [0, ''])
  })

  test('is not copied silently by a backup', async (t) => {
    const { folder } = await damagedRecord(t)
    const copy = join(folder, 'copy.db')
    const { code, err } = await runCommand(['db', 'backup', copy], { HEDDLE_DATA: folder })
    assert.equal(code, 3)
    assert.match(err, /damaged/)
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith('copy')),
      [],
    )
  })
})

test('a text that is not JSON is found by `heddle db check`', async (t) => {
  const { folder, file, ids } = await newRecord(t)
  const handle = new Sqlite(file)
  handle.prepare('UPDATE calls SET inputs = ? WHERE id = ?').run('{"cut', ids[0])
  handle.close()
  const { code, err } = await runCommand(['db', 'check'], { HEDDLE_DATA: folder })
  assert.equal(code, 1)
  assert.ok(err.includes(ids[0] as string))
})
