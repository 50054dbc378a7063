import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { writeRandomAdapter } from '../support/random-adapter.ts'
import { writeRandomModel } from '../support/random-model.ts'
import { newFolder, type RunningServer, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const shape = { hidden: 64, weights: 'q8_0', context: 1024 } as const

async function folderOf(t: Parameters<typeof newFolder>[0]): Promise<string> {
  const folder = await newFolder(t)
  await writeRandomModel(join(folder, 'base.gguf'), shape)
  await writeRandomAdapter(join(folder, 'poet.gguf'), { hidden: shape.hidden })
  return folder
}

const shown = async <Shown>(asked: Promise<Response>) => (await (await asked).json()) as Shown

/** The answer of each name, its model card, and its entry in `/views/engine`. */
async function checked(server: RunningServer): Promise<void> {
  const { data } = await shown<{ data: Record<string, unknown>[] }>(server.get('/v1/models'))
  assert.deepEqual(
    data.map(({ id, root, parent }) => [id, root, parent]),
    [
      ['base', 'base', null],
      ['poet', 'poet', 'base'],
    ],
  )
  const said = async (model: string | undefined) => {
    const body = { prompt: 'Once upon a time', max_tokens: 24, temperature: 0, ignore_eos: true }
    const asked = server.post('/v1/completions', { ...body, ...(model !== undefined && { model }) })
    const json = await shown<{ model: string; choices: { text: string }[] }>(asked)
    return { model: json.model, text: json.choices[0]?.text }
  }
  const base = await said('base')
  const poet = await said('poet')
  assert.deepEqual([base.model, poet.model], ['base', 'poet'])
  assert.notEqual(poet.text, base.text)
  assert.deepEqual(await said(undefined), base)
  assert.deepEqual(await said('poet'), poet)
  const { models } = await shown<{ models: { names: string[]; slots: unknown }[] }>(
    server.get('/views/engine'),
  )
  assert.deepEqual(
    models.map(({ names, slots }) => [names[0], slots !== null]),
    [
      ['base', true],
      ['poet', false],
    ],
  )
}

test('an adapter is served as a separate model alongside its base model', async (t) => {
  const folder = await folderOf(t)
  const server = await startServer(t, {
    HEDDLE_DATA: folder,
    HEDDLE_MODEL: join(folder, 'base.gguf'),
    HEDDLE_LORA: `poet=${join(folder, 'poet.gguf')}`,
    HEDDLE_THREADS: '1',
  })
  await until('the model is ready', async () => (await server.get('/ready')).status === 200)
  await checked(server)
})

test('adapters can be listed in the file of models', async (t) => {
  const folder = await folderOf(t)
  const list = join(folder, 'models.json')
  const entry = { name: 'base', file: 'base.gguf', lora: { poet: 'poet.gguf' }, threads: 1, preload: true }
  await writeFile(list, JSON.stringify({ models: [entry] }))
  const server = await startServer(t, { HEDDLE_DATA: folder, HEDDLE_MODEL: '', HEDDLE_MODELS: list })
  const isLoaded = async () => {
    const { data = [] } = await shown<{ data?: { state: string }[] }>(server.get('/v1/models'))
    return data.length > 0 && data.every(({ state }) => state === 'ready')
  }
  await until('the model is loaded', isLoaded)
  await checked(server)
})
