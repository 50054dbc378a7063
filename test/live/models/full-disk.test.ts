import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { project, startOf } from '../../support/calls.ts'
import { limitDiskSize, limitFileSize } from '../../support/limited-disk.ts'
import { writeRandomModel } from '../../support/random-model.ts'
import { newFolder, runHeddle, startServer } from '../../support/server.ts'
import { until } from '../../support/wait.ts'
import { startFakeHub } from './fake-hub.ts'

const name = 'm-Q4_0.gguf'

/** A model of some 5 MB on a hub. */
async function openHub(t: TestContext) {
  const file = join(await newFolder(t), name)
  await writeRandomModel(file, { context: 1024, vocabulary: 30_000 })
  // Bytes after the tensors of a file are ignored.
  const bytes = Buffer.concat([await readFile(file), randomBytes(2 << 20)])
  const hub = await startFakeHub(t, { repositories: { 'acme/tiny': { [name]: bytes } } })
  const data = await newFolder(t)
  const settings = { HEDDLE_DATA: data, HF_ENDPOINT: hub.endpoint }
  const folder = join(data, 'models', 'acme', 'tiny')
  const here = async () => (await readdir(folder)).filter((one) => !one.endsWith('.lock')).toSorted()
  return { hub, bytes, settings, data, folder, here }
}

const pull = ['model', 'pull', 'hf:acme/tiny']

test('model pull says how much space is missing before it begins', async (t) => {
  const { hub, settings, data } = await openHub(t)
  const disk = limitDiskSize(data, 2 << 20)
  if (disk === undefined) return t.skip('this user may not mount a small disk')
  const { code, out, err } = await runHeddle(pull, settings, disk.before)
  assert.deepEqual([code, out], [1, ''])
  assert.match(
    err,
    /^Downloading acme\/tiny:m-Q4_0\.gguf\nm-Q4_0\.gguf takes [\d.]+ MiB more and the disk of .+ has \d+ KiB free, of which 64 MiB are reserved for the record\.\n$/,
  )
  assert.deepEqual(
    hub.asked.filter((line) => line.startsWith('GET bytes')),
    [],
  )
})

test('when the disk becomes full model pull says so, leaves a part and no file, and continues when there is space', async (t) => {
  const { hub, bytes, settings, folder, here } = await openHub(t)
  const limit = limitFileSize(1_000)
  if (limit === undefined) return t.skip('this shell limits no files')
  const { code, out, err } = await runHeddle(pull, settings, limit.before)
  assert.deepEqual([code, out], [1, ''])
  const [last] = err.trimEnd().split('\n').slice(-1)
  assert.match(last ?? '', /\/m-Q4_0\.gguf cannot be written: [^\n]+\.$/)
  const [part = '', ...others] = await here()
  assert.match(part, /^m-Q4_0\.gguf\.[\da-f]{16}\.part$/)
  assert.deepEqual(others, [])

  const begun = (await readFile(join(folder, part))).length
  assert.ok(begun > 0 && begun < bytes.length)
  const again = await runHeddle(pull, settings)
  assert.deepEqual([again.code, again.out], [0, `${join(folder, name)}\n`])
  assert.deepEqual(await here(), [name])
  assert.ok(bytes.equals(await readFile(join(folder, name))))
  assert.equal(hub.asked.at(-1), `GET bytes bytes=${begun}-`)
})

test('without space for the model a server serves the record, says what is missing, and tries again later', async (t) => {
  const { settings, data, bytes } = await openHub(t)
  // Half of it is in use.
  const disk = limitDiskSize(data, 8 << 20)
  if (disk === undefined) return t.skip('this user may not mount a small disk')
  assert.ok(bytes.length > 4 << 20)
  const server = await startServer(t, { ...settings, HEDDLE_MODEL: 'hf:acme/tiny' }, disk.before)
  const logged = () => server.log.map((line) => JSON.parse(line))
  const trouble = () => logged().find(({ msg }) => msg.startsWith('the model cannot be served'))
  await until('the model cannot be served', () => trouble() !== undefined)
  assert.match(
    trouble().msg,
    /takes [\d.]+ MiB more and the disk of .+ has [\d.]+ MiB free, of which 64 MiB are reserved for the record/,
  )
  assert.ok(trouble().again_in_ms > 0)
  assert.equal((await server.post('/call/start', { start: startOf({ project_id: project }) })).status, 200)
  const chat = await server.post('/v1/completions', { prompt: 'a' })
  assert.equal(chat.status, 503)
  assert.match(await chat.text(), /MiB free/)
  assert.equal((await server.get('/ready')).status, 503)
  assert.equal(await server.end('SIGTERM'), 0)
})
