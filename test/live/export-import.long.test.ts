import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { completeOf, endOf, startOf } from '../support/calls.ts'
import { runCommand } from '../support/commands.ts'
import {
  callsOfProject,
  databaseSettings,
  fill,
  project,
  readAll,
  withApp,
} from '../support/exported-project.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { newFolder } from '../support/server.ts'

let postgres: TestPostgres
before(async () => {
  postgres = await startPostgres()
})
after(() => postgres.stop())

const outcome = (added: number, there = 0, gone = 0) => ({ added, there, gone })

for (const [from, to] of [
  ['SQLite', 'PostgreSQL'],
  ['PostgreSQL', 'SQLite'],
] as const) {
  test(`an export from ${from} is imported into ${to} once, with every digit`, async (t) => {
    const of = async (engine: string) =>
      databaseSettings(await newFolder(t), engine === 'PostgreSQL' ? postgres : undefined)
    const [source, target] = [await of(from), await of(to)]
    await fill(source)
    const file = join(source.HEDDLE_DATA as string, 'export.jsonl')
    const written = await runCommand(['export', project, '--to', file], source)
    assert.equal(written.code, 0, written.err)
    assert.equal(
      (await runCommand(['export', project, '--to', file], source)).code,
      1,
      'a file is never replaced',
    )
    await withApp(target, async () => {})

    // Only the first part, as if the command had been killed.
    const all = readFileSync(file, 'utf8').split('\n')
    const part = join(target.HEDDLE_DATA as string, 'part.jsonl')
    writeFileSync(part, all.slice(0, 200).join('\n'))
    const cut = await runCommand(['import', part], target)
    assert.equal(cut.code, 1)
    assert.match(cut.err, /no last line: the export was cut off/)

    const whole = await runCommand(['import', file], target)
    assert.equal(whole.code, 0, whole.err)
    const first = JSON.parse(whole.out)
    assert.ok(first.calls.added > 200 && first.calls.there > 100, whole.out)
    assert.equal(first.calls.added + first.calls.there, callsOfProject)
    assert.deepEqual(await readAll(target), await readAll(source))

    const again = await runCommand(['import', file], target)
    const { calls, ...others } = JSON.parse(again.out)
    // Running calls may have changed, so they are written again.
    assert.deepEqual(calls, outcome(2, callsOfProject - 2))
    assert.deepEqual(others, {
      files: outcome(0, 1),
      tables: outcome(0, 2),
      objects: outcome(0, 5),
      feedback: outcome(0, 1),
    })
    assert.deepEqual(await readAll(target), await readAll(source))

    const moved = await runCommand(['import', file, '--project', 'other/one'], target)
    assert.equal(moved.code, 0, moved.err)
    assert.equal(JSON.parse(moved.out).calls.added, callsOfProject)
    const audit = await runCommand(['audit', '--json'], target)
    assert.match(audit.out, /"action":"project\.import"/)
  })
}

test('calls that were deleted or continued here stay unchanged', async (t) => {
  const settings = { HEDDLE_DATA: await newFolder(t) }
  const [deleted, running] = [completeOf({ project_id: project }), startOf({ project_id: project })]
  await withApp(settings, async ({ post }) => {
    await post(`/v2/${project}/calls/complete`, { batch: [deleted] })
    await post('/call/start', { start: running })
  })
  const file = join(settings.HEDDLE_DATA, 'export.jsonl')
  assert.equal((await runCommand(['export', project, '--to', file], settings)).code, 0)
  await withApp(settings, async ({ post }) => {
    await post('/calls/delete', { project_id: project, call_ids: [deleted.id] })
    await post('/call/end', { end: endOf(running.id, { project_id: project, output: 'later' }) })
  })
  const { code, out } = await runCommand(['import', file], settings)
  assert.equal(code, 0)
  assert.deepEqual(JSON.parse(out).calls, outcome(0, 1, 1))
  await withApp(settings, async ({ post }) => {
    assert.equal((await post('/call/read', { project_id: project, id: deleted.id })).status, 404)
    assert.equal(
      (await post('/call/read', { project_id: project, id: running.id })).json.call.output,
      'later',
    )
  })
})

test('an invalid line is named, and the lines before it are imported', async (t) => {
  const settings = { HEDDLE_DATA: await newFolder(t) }
  await withApp(settings, async () => {})
  const head = JSON.stringify({ export: { version: 1, project_id: project } })
  const good = JSON.stringify({ call: completeOf({ svc_user_id: 'somebody' }) })
  const file = join(settings.HEDDLE_DATA, 'bad.jsonl')
  for (const [lines, says] of [
    [[good], /Line 1: .*first line/],
    [[head, good, '{"call":'], /Line 3: .*JSON/],
    [[head, good, '{"call":{"id":"no"}}'], /Line 3: .*call\.id/],
    [
      [head, good, JSON.stringify({ call: completeOf({ output: 1, ended_at: 'never' }) })],
      /Line 3: .*call\.ended_at/,
    ],
    [[JSON.stringify({ export: { version: 2, project_id: project } })], /Line 1: .*export\.version/],
    [
      [
        head,
        JSON.stringify({
          object: { object_id: 'a', digest: 'x', is_latest: 1, val: 1, created_at: '2026-01-01T00:00:00Z' },
        }),
      ],
      /Line 2: object\.digest: "x" was expected/,
    ],
    [
      [head, JSON.stringify({ rows: { table: 'x', count: 1, from: 0, values: [{}] } })],
      /Line 2: rows\.table/,
    ],
    [
      [head, JSON.stringify({ file: { digest: 'x', size: 1, from: 0, base64: 'AA==' } })],
      /Line 2: .*file\.digest/,
    ],
  ] as const) {
    writeFileSync(file, lines.join('\n'))
    const { code, err } = await runCommand(['import', file], settings)
    assert.equal(code, 1, err)
    assert.match(err, says)
  }
  await withApp(settings, async ({ post }) => {
    assert.equal((await post('/calls/query_stats', { project_id: project })).json.count, 1)
  })
  for (const [args, says] of [
    [['import'], /Give the file/],
    [['import', '/nowhere/at/all'], /There is no file/],
    [['export'], /one project/],
    [['export', project, '--kinds', 'calls,people'], /--kinds: given "calls,people"; accepted/],
    [['export', 'acme/nothing'], /There is nothing in project/],
  ] as const) {
    const { code, err } = await runCommand(args, settings)
    assert.notEqual(code, 0)
    assert.match(err, says)
  }
})

test('a record in PostgreSQL is backed up during writes, and served from the backup', async (t) => {
  const folder = await newFolder(t)
  const source = await databaseSettings(folder, postgres)
  await fill(source)
  const before = await readAll(source)
  const file = join(folder, 'backup.db')
  let isOver = false
  let written = 0
  await withApp(source, async ({ post }) => {
    const writing = (async () => {
      for (; !isOver; written++)
        await post('/call/start', { start: startOf({ project_id: 'acme/meanwhile' }) })
    })()
    const { code, err } = await runCommand(['db', 'backup', file], source)
    isOver = true
    await writing
    assert.equal(code, 0, err)
  })
  assert.ok(written > 0)
  const restored = await newFolder(t)
  writeFileSync(join(restored, 'heddle.db'), readFileSync(file))
  assert.deepEqual(await readAll({ HEDDLE_DATA: restored }), before)
  assert.equal((await runCommand(['db', 'check'], { HEDDLE_DATA: restored })).code, 0)
  const url = await postgres.createDatabase()
  const back = await runCommand(['db', 'copy', url], { HEDDLE_DATA: restored })
  assert.equal(back.code, 0, back.err)
  assert.deepEqual(await readAll({ HEDDLE_DATA: folder, HEDDLE_DATABASE_URL: url }), before)
  const refused = await runCommand(['db', 'backup', file], source)
  assert.match(refused.err, /never replaces a file/)
})
