// In a process of its own: it keeps threads of it busy.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { folderStore, ownerFile } from '../../../src/storage/cold/store.ts'
import { openRecord } from '../../../src/storage/open.ts'
import { project } from '../../support/calls.ts'
import { until, withTimeout } from '../../support/wait.ts'
import { coldCall, filesIn, moveAll, openWithCalls } from './cold-app.ts'

const patienceMs = 200

/** Whoever opens this file waits, in a thread, until the returned function is called. */
function hang(t: TestContext, path: string): () => void {
  const own = mkdtempSync(join(tmpdir(), 'heddle-hangs-'))
  const pipe = join(own, 'pipe')
  execFileSync('mkfifo', [pipe])
  renameSync(path, `${path}.away`)
  symlinkSync(pipe, path)
  // Whoever opens it for both opens it at once, and for those that wait.
  const go = () => closeSync(openSync(pipe, constants.O_RDWR))
  t.after(() => {
    go()
    rmSync(own, { recursive: true })
  })
  return () => {
    renameSync(`${path}.away`, path)
    go()
  }
}

test('cold calls: a folder that hangs is named, and everything else goes on', async (t) => {
  const calls = Array.from({ length: 12 }, (_, index) => coldCall(`K${index}`))
  const { database, folder, read, post } = await openWithCalls(t, calls, (path) => ({
    ...folderStore(path),
    read: folderStore(path, patienceMs).read,
  }))
  await moveAll(database, project)
  const go = filesIn(folder).map((path) => hang(t, path))
  for (let round = 0; round < 2; round++) {
    const answers = calls.map(({ id }) => read(id))
    // Of the four threads that read files.
    await withTimeout('another file is read', readFile(join(folder, ownerFile)))
    assert.equal((await post('/views/calls', { project_id: project })).status, 200)
    for (const { status, json, headers } of await Promise.all(answers)) {
      assert.deepEqual([status, json.code], [503, 'cold_store_unreachable'])
      assert.ok(headers['retry-after'])
    }
  }
  for (const each of go) each()
  await until('the folder answers', async () => (await read(calls[0]?.id ?? '')).status === 200)
})

test('cold calls: a record whose store hangs is opened, and says so', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-cold-hangs-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, ownerFile), 'me')
  const go = hang(t, join(folder, ownerFile))
  const failures: Error[] = []
  const place = {
    databaseUrl: '',
    folder,
    queryTimeoutMs: 60_000,
    coldStore: folderStore(folder, patienceMs),
  }
  const opening = openRecord({ ...place, onColdFailure: (error) => failures.push(error) })
  const database = await withTimeout('the record is open', opening)
  await database.close()
  assert.deepEqual(
    failures.map(({ cause, message }) => String((cause as Error | undefined)?.message ?? message)),
    [`${folder} does not answer`],
  )
  go()
})
