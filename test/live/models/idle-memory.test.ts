import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { canMeasureMemory, memoryOf } from '../../support/process-memory.ts'
import { writeRandomModel } from '../../support/random-model.ts'
import { newFolder, startServer } from '../../support/server.ts'
import { until } from '../../support/wait.ts'

test('a server with a list of unloaded models uses less than 150 MB', async (t) => {
  if (!canMeasureMemory) return t.skip('there is no /proc to measure memory with')
  const folder = await newFolder(t)
  await writeRandomModel(join(folder, 'one.gguf'), { seed: 1 })
  const models = ['one', 'two', 'three'].map((name) => ({ name, file: 'one.gguf' }))
  const upstreams = [{ name: 'away', addresses: ['http://127.0.0.1:9/v1'] }]
  await writeFile(join(folder, 'models.json'), JSON.stringify({ models, upstreams }))
  const settings = {
    HEDDLE_DATA: join(folder, 'data'),
    HEDDLE_MODEL: '',
    HEDDLE_MODELS: join(folder, 'models.json'),
  }
  // Code compiled at the very first start is cached for later ones.
  assert.equal(await (await startServer(t, settings)).end('SIGTERM'), 0)
  const server = await startServer(t, settings)
  await until('they are found', async () => (await server.get('/ready')).status === 200)
  const { now } = memoryOf(server.process.pid as number)
  t.diagnostic(`${now.toFixed(0)} MB`)
  assert.ok(now < 150, `${now.toFixed(0)} MB`)
})
