import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import Sqlite from 'better-sqlite3'
import { sqliteFile } from '../../src/storage/open.ts'
import { keys } from '../support/app.ts'
import { completeOf } from '../support/calls.ts'
import { runCommand } from '../support/commands.ts'
import { databaseSettings, project, readAll, withApp } from '../support/exported-project.ts'
import { limitDiskSize } from '../support/limited-disk.ts'
import { storeOneOfEach } from '../support/one-of-each.ts'
import { heddle, newFolder, runHeddle } from '../support/server.ts'
import { until } from '../support/wait.ts'

const calls = 4_000

/** A project whose import takes many writes, and its export in both formats. */
async function exported(t: Parameters<typeof newFolder>[0]) {
  const settings = await databaseSettings(await newFolder(t))
  await withApp(settings, async (opened) => {
    await storeOneOfEach(opened, project, keys.alice)
    const rows = Array.from({ length: 50 }, (_, n) => ({ n }))
    const { json: table } = await opened.post('/table/create', { table: { project_id: project, rows } })
    const obj = { project_id: project, object_id: 'rows', val: { table: table.digest } }
    assert.equal((await opened.post('/obj/create', { obj })).status, 200)
    for (let from = 0; from < calls; from += 500) {
      const batch = Array.from({ length: 500 }, (_, n) =>
        completeOf({ project_id: project, inputs: { n: from + n }, output: 'what was said '.repeat(400) }),
      )
      const { status, text } = await opened.post(`/v2/${project}/calls/complete`, { batch })
      assert.equal(status, 200, text)
    }
  })
  const file = join(settings.HEDDLE_DATA as string, 'export.jsonl')
  const folder = join(settings.HEDDLE_DATA as string, 'parquet')
  for (const more of [
    ['--to', file],
    ['--format', 'parquet', '--to', folder],
  ]) {
    const { code, err } = await runCommand(['export', project, ...more], settings)
    assert.equal(code, 0, err)
  }
  return { file, folder, all: await readAll(settings) }
}

const countIn = (settings: Record<string, string>): Promise<number> => {
  let count = 0
  return withApp(settings, async ({ post }) => {
    count = (await post('/calls/query_stats', { project_id: project })).json.count
  }).then(() => count)
}

test('an import that is killed continues when it is run again', async (t) => {
  const { file, folder, all } = await exported(t)
  for (const source of [file, folder]) {
    const settings = await databaseSettings(await newFolder(t))
    await withApp(settings, async () => {})
    const record = new Sqlite(sqliteFile(settings.HEDDLE_DATA as string), { readonly: true })
    t.after(() => record.close())
    const written = record.prepare('SELECT count(*) FROM calls').pluck()
    const importing = heddle(['import', source], settings)
    const ended = once(importing, 'exit')
    await until('some of it is written', () => (written.get() as number) > 0)
    importing.kill('SIGKILL')
    await ended
    const some = await countIn(settings)
    assert.ok(some > 0, 'it was killed after its first write')
    const again = await runCommand(['import', source], settings)
    assert.equal(again.code, 0, again.err)
    const { added, there } = JSON.parse(again.out).calls
    assert.deepEqual([added + there, there >= some], [calls + 1, true], again.out)
    assert.deepEqual(await readAll(settings), all)
    assert.equal((await runCommand(['db', 'check'], settings)).code, 0)
  }
})

test('an import on a full disk says so, and continues when there is space', async (t) => {
  const folder = await newFolder(t)
  const disk = limitDiskSize(folder, 48 << 20)
  if (disk === undefined) return t.skip('this user may not mount a small disk')
  const { file } = await exported(t)
  const settings = { HEDDLE_DATA: folder }
  // All in one shell, because only that command sees the small disk.
  const script = [
    '"$@" user add somebody --new >/dev/null',
    `if "$@" import ${file}; then echo "it had room"; exit 9; fi`,
    'rm "$HEDDLE_DATA/ballast"',
    `"$@" import ${file} && "$@" db check`,
  ].join('\n')
  const { code, out, err } = await runHeddle([], settings, [...disk.before, 'sh', '-c', script, 'import'])
  assert.equal(code, 0, `${out}\n${err}`)
  assert.match(err, /disk is full|full/i)
  const { added, there } = JSON.parse(
    out.split('\n').find((line) => line.startsWith('{"files"')) ?? '{}',
  ).calls
  assert.equal(added + there, calls + 1)
  assert.ok(there > 0, 'what was written before is still stored')
})
