import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parquetMetadata } from 'hyparquet'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { Compression, readParquet, WriterPropertiesBuilder, writeParquet } from 'parquet-wasm/node'
import { completeOf } from '../support/calls.ts'
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

const kinds = ['files', 'tables', 'objects', 'calls', 'feedback']

let postgres: TestPostgres
before(async () => {
  postgres = await startPostgres()
})
after(() => postgres.stop())

async function runs(args: readonly string[], settings: Record<string, string>): Promise<string> {
  const { code, out, err } = await runCommand(args, settings)
  assert.equal(code, 0, err)
  return out
}

/** The file as another program would rewrite it, with its own pages and compression. */
function rewritten(bytes: Uint8Array, compression: Compression): Uint8Array {
  const said = parquetMetadata(bytes).key_value_metadata ?? []
  const properties = new WriterPropertiesBuilder()
    .setCompression(compression)
    .setKeyValueMetadata(new Map(said.map(({ key, value }) => [key, value as string])))
    .build()
  return writeParquet(readParquet(bytes), properties)
}

test('data is unchanged after JSON Lines, a record, Parquet, another program and back', async (t) => {
  const source = await databaseSettings(await newFolder(t))
  await fill(source)
  await withApp(source, async ({ post }) => {
    const large = Array.from({ length: 6 }, (_, n) =>
      completeOf({ project_id: project, output: `${n}`.repeat(1 << 20) }),
    )
    assert.equal((await post(`/v2/${project}/calls/complete`, { batch: large })).status, 200)
  })
  const expected = await readAll(source)
  const all = callsOfProject + 6

  const lines = join(source.HEDDLE_DATA as string, 'lines.jsonl')
  await runs(['export', project, '--to', lines], source)
  const second = await databaseSettings(await newFolder(t), postgres)
  await withApp(second, async () => {})
  await runs(['import', lines], second)

  const folder = join(second.HEDDLE_DATA as string, 'parquet')
  await runs(['export', project, '--format', 'parquet', '--to', folder], second)
  assert.deepEqual(readdirSync(folder).sort(), kinds.map((kind) => `${kind}.parquet`).sort())
  const { row_groups } = parquetMetadata(readFileSync(join(folder, 'calls.parquet')))
  assert.ok(row_groups.length > 1, 'rows are written in groups, not at the end')

  const third = await databaseSettings(await newFolder(t))
  await withApp(third, async () => {})
  assert.equal(JSON.parse(await runs(['import', folder], third)).calls.added, all)
  assert.deepEqual(await readAll(third), expected)
  const again = JSON.parse(await runs(['import', folder], third))
  assert.deepEqual(again.calls, { added: 2, there: all - 2, gone: 0 }, 'running calls are written again')
  assert.deepEqual(again.objects.added + again.tables.added + again.files.added + again.feedback.added, 0)

  const others = join(source.HEDDLE_DATA as string, 'others')
  mkdirSync(others)
  for (const [index, kind] of kinds.entries()) {
    const compression = [Compression.SNAPPY, Compression.GZIP, Compression.ZSTD, Compression.BROTLI][
      index % 4
    ]
    const bytes = readFileSync(join(folder, `${kind}.parquet`))
    writeFileSync(join(others, `${kind}.parquet`), rewritten(bytes, compression as Compression))
  }
  const fourth = await databaseSettings(await newFolder(t))
  await withApp(fourth, async () => {})
  await runs(['import', others], fourth)
  assert.deepEqual(await readAll(fourth), expected)
})

test('a Parquet file that is incomplete or not from an export is refused by name', async (t) => {
  const settings = await databaseSettings(await newFolder(t))
  await withApp(settings, async ({ post }) => {
    const given = { project_id: project, inputs: { big: 1 } }
    assert.equal((await post(`/v2/${project}/calls/complete`, { batch: [completeOf(given)] })).status, 200)
  })
  const folder = join(settings.HEDDLE_DATA as string, 'parquet')
  await runs(['export', project, '--format', 'parquet', '--to', folder], settings)
  const bad = join(settings.HEDDLE_DATA as string, 'bad.parquet')
  const calls = readFileSync(join(folder, 'calls.parquet'))
  const head = { version: 1, project_id: project, kind: 'feedback', kinds: ['feedback'] }
  const columns = ['project_id', 'id', 'feedback_type', 'svc_ref', 'svc_user_id', 'creator', 'payload']
  const more = ['annotation_ref', 'runnable_ref', 'call_ref', 'trigger_ref', 'queue_id']
  const written = (said: unknown, cells: Record<string, string>) =>
    new Uint8Array(
      parquetWriteBuffer({
        columnData: [
          ...[...columns, ...more].map((name) => ({
            name,
            data: [cells[name] ?? null],
            type: 'STRING' as const,
          })),
          { name: 'created_at', data: [new Date(0)], type: 'TIMESTAMP' as const },
        ].filter(({ name }) => cells[name] !== 'left out'),
        kvMetadata: [{ key: 'heddle.export', value: typeof said === 'string' ? said : JSON.stringify(said) }],
      }),
    )
  const feedback = { id: 'f', feedback_type: 'own', svc_ref: 'weave:///acme/qa/call/x' }
  for (const [bytes, says] of [
    [calls.subarray(0, -20), /bad\.parquet: it cannot be read as Parquet/],
    [calls.subarray(0, 4), /bad\.parquet: it cannot be read as Parquet/],
    [Buffer.concat([calls.subarray(0, 40), calls.subarray(60)]), /bad\.parquet.*Parquet/],
    [written('{', {}), /heddle\.export is not JSON/],
    [written('null', {}), /no metadata heddle\.export that names a kind/],
    [written({ ...head, kind: 'monitors' }, {}), /no metadata heddle\.export that names a kind/],
    [written({ ...head, version: 2 }, {}), /export\.version/],
    [written(head, { payload: 'left out' }), /the column payload of feedback is missing/],
    [
      written(head, { ...feedback, payload: '{},"id":"g"' }),
      /bad\.parquet, row 1: column payload: .* is not JSON/,
    ],
    [written(head, { ...feedback, payload: '[]' }), /bad\.parquet, row 1: .*feedback\.payload/],
  ] as const) {
    writeFileSync(bad, bytes)
    const { code, err } = await runCommand(['import', bad], settings)
    assert.equal(code, 1, err)
    assert.match(err, says)
  }

  const part = join(settings.HEDDLE_DATA as string, 'part')
  cpSync(folder, part, { recursive: true })
  rmSync(join(part, 'feedback.parquet'))
  const cut = await runCommand(['import', part], settings)
  assert.equal(cut.code, 1)
  assert.match(cut.err, /has no feedback\.parquet: the export was cut off/)
  // A single file is imported on purpose.
  assert.equal(JSON.parse(await runs(['import', join(part, 'calls.parquet')], settings)).calls.there, 1)
  const empty = join(settings.HEDDLE_DATA as string, 'empty')
  mkdirSync(empty)
  for (const [args, says] of [
    [['import', empty], /it has none of files\.parquet/],
    [['export', project, '--format', 'csv'], /--format: given "csv"; accepted: jsonl or parquet/],
    [['export', project, '--format', 'parquet'], /--kinds: given "everything"; accepted: one kind/],
    [['export', project, '--format', 'parquet', '--to', folder], /exists already/],
  ] as const) {
    const { code, err } = await runCommand(args, settings)
    assert.notEqual(code, 0)
    assert.match(err, says)
  }
})
