import assert from 'node:assert/strict'
import { copyFile, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Backend, type ModelPlan, sourceOf, usualKvTypes } from '../../../packages/engine/index.ts'
import { readConfig } from '../../../src/config.ts'
import { createServedModel } from '../../../src/inference/served-model.ts'
import { writeGguf } from '../../support/gguf.ts'
import { writeRandomAdapter } from '../../support/random-adapter.ts'
import { writeRandomModel } from '../../support/random-model.ts'
import { newFolder } from '../../support/server.ts'
import { until, withTimeout } from '../../support/wait.ts'
import { type FakeHubOptions, startFakeHub } from './fake-hub.ts'

const never = new AbortController().signal

interface Line {
  level: 'info' | 'warn' | 'error'
  message: string
}

async function openServed(
  t: TestContext,
  settings: Record<string, string>,
  hub?: FakeHubOptions,
  pauseMs = 10,
) {
  const data = await newFolder(t)
  const endpoint = hub && (await startFakeHub(t, hub)).endpoint
  const config = readConfig({ HEDDLE_DATA: data, ...(endpoint && { HF_ENDPOINT: endpoint }), ...settings })
  const source = sourceOf(config.model)
  assert.ok(source.kind !== 'none' && source.kind !== 'upstream')
  const plans: ModelPlan[] = []
  const log: Line[] = []
  const line = (level: Line['level']) => (_values: object, message: string) => log.push({ level, message })
  let closed = 0
  const engine = {
    status: () => ({ state: 'ready', running: 0, waiting: 0 }),
    tokenize: async () => [1, 2],
    close: async () => {
      closed++
    },
  } as unknown as Backend
  const served = createServedModel(source, config, {
    log: { info: line('info'), warn: line('warn'), error: line('error') },
    startEngine: (plan) => {
      plans.push(plan)
      return engine
    },
    pauseMs: () => pauseMs,
  })
  t.after(() => served.close())
  const state = () => served.status().state
  return { served, state, plans, log, data, closed: () => closed }
}

async function modelIn(t: TestContext): Promise<string> {
  const file = join(await newFolder(t), 'Tiny-Model.gguf')
  await writeRandomModel(file, { context: 1024 })
  return file
}

test('a model given by its path is checked and passed to the engine with its plan', async (t) => {
  const file = await modelIn(t)
  const { served, state, plans, closed } = await openServed(t, { HEDDLE_MODEL: file, HEDDLE_QUEUE: '7' })
  assert.equal(state(), 'starting')
  assert.equal(served.model(), undefined)
  await assert.rejects(served.tokenize('x', { special: true, add: true }, never), {
    code: 'model_not_ready',
    status: 503,
    message: /^The model is not ready: (looking for|checking) the model\.$/,
  })
  await until('it is ready', () => state() === 'ready')
  const digest = plans[0]?.facts?.digest
  assert.match(digest ?? '', /^[\da-f]{64}$/)
  assert.deepEqual(plans, [
    {
      file,
      source: file,
      names: ['Tiny-Model'],
      context: 1024,
      parallel: 8,
      threads: 1,
      gpu: false,
      gpuLayers: 0,
      device: 'cpu',
      batch: 512,
      queue: 7,
      priority: false,
      drafts: true,
      facts: { architecture: 'llama', digest },
      adapters: [],
      adapterBytes: 0,
      promptCache: 1024 ** 2,
      kv: usualKvTypes,
      flashAttention: 'auto',
      task: 'answers',
    },
  ])
  assert.deepEqual(await served.tokenize('x', { special: true, add: true }, never), [1, 2])
  await served.close()
  assert.equal(closed(), 1)
})

test('other weights in a file of the same size have another digest, a copy of the file the same', async (t) => {
  const folder = await newFolder(t)
  const at = (name: string) => join(folder, `${name}.gguf`)
  const digestOf = async (name: string, lora = '') => {
    const { state, plans } = await openServed(t, { HEDDLE_MODEL: at(name), HEDDLE_LORA: lora })
    await until('it is ready', () => state() === 'ready')
    return plans[0]?.facts
  }
  await writeRandomModel(at('first'), { seed: 1 })
  await writeRandomModel(at('other'), { seed: 2 })
  await copyFile(at('first'), at('copy'))
  assert.equal((await stat(at('other'))).size, (await stat(at('first'))).size)
  const first = await digestOf('first')
  assert.notEqual(first?.digest, undefined)
  assert.equal((await digestOf('copy'))?.digest, first?.digest)
  assert.notEqual((await digestOf('other'))?.digest, first?.digest)
  await writeRandomAdapter(at('poet'))
  const adapted = await digestOf('first', `poet=${at('poet')}`)
  assert.equal(adapted?.digest, first?.digest)
  assert.equal(adapted?.adapterDigests?.length, 1)
})

test('settings take precedence over what the model and the machine suggest', async (t) => {
  const { state, plans } = await openServed(t, {
    HEDDLE_MODEL: await modelIn(t),
    HEDDLE_MODEL_NAME: 'first, second/name',
    HEDDLE_CONTEXT: '512',
    HEDDLE_PARALLEL: '3',
    HEDDLE_THREADS: '2',
    HEDDLE_BATCH: '64',
    HEDDLE_PRIORITY: 'on',
  })
  await until('it is ready', () => state() === 'ready')
  const [{ names, context, parallel, threads, batch, priority }] = plans as [ModelPlan]
  assert.deepEqual(
    [names, context, parallel, threads, batch, priority],
    [['first', 'second/name'], 512, 3, 2, 64, true],
  )
})

test('a model that cannot be served fails with one log line, and is not tried again', async (t) => {
  const { served, state, plans, log } = await openServed(t, { HEDDLE_MODEL: '/nowhere/m.gguf' })
  await until('it has failed', () => state() === 'failed')
  const reasonOf = (model: string) =>
    `The model ${model} cannot be read: it does not exist; accepted: builtin, the path of a .gguf file, hf:<org>/<repo>[:<quant or file>], none.`
  const reason = reasonOf('m.gguf')
  assert.deepEqual(served.status(), { state: 'failed', reason })
  const inLog = reasonOf('/nowhere/m.gguf')
  assert.deepEqual(log, [{ level: 'error', message: `the model cannot be served: ${inLog}` }])
  await assert.rejects(served.generate({} as never, never), {
    code: 'model_not_ready',
    message: `The model is not ready: ${reason}`,
  })
  await served.close()
  assert.deepEqual(plans, [])
})

test('a temporary failure is retried until it is over', async (t) => {
  const bytes = await readFile(await modelIn(t))
  const hub: FakeHubOptions = { repositories: { 'acme/tiny': { 'm-Q4_0.gguf': bytes } }, status: 503 }
  const { state, plans, log, data } = await openServed(t, { HEDDLE_MODEL: 'hf:acme/tiny' }, hub)
  await until('it is told', () => log.filter(({ level }) => level === 'error').length >= 3)
  delete hub.status
  await until('it is ready', () => state() === 'ready')
  assert.equal(plans[0]?.file, join(data, 'models', 'acme', 'tiny', 'm-Q4_0.gguf'))
  assert.deepEqual(plans[0]?.names, ['m-Q4_0'])
  const messages = log.map(({ message }) => message)
  assert.equal(messages[0], 'the model cannot be served: The hub answers 503 for acme/tiny.')
  assert.ok(
    messages.some((message) => /^downloading acme\/tiny:m-Q4_0\.gguf: 100 % of \d+ KiB$/.test(message)),
  )
  assert.ok(messages.filter((message) => message.startsWith('downloading ')).length <= 21)
})

test('a model without a template is served, with a warning', async (t) => {
  const file = join(await newFolder(t), 'plain.gguf')
  const weights = { name: 'w', shape: [32], type: 'f32' as const, bytes: () => new Uint8Array(128) }
  const metadata = {
    'general.architecture': { text: 'llama' },
    'llama.context_length': { u32: 64 },
    'tokenizer.ggml.model': { text: 'gpt2' },
    'tokenizer.ggml.tokens': { texts: ['a'] },
  }
  await writeGguf(file, metadata, [weights])
  const { state, log } = await openServed(t, { HEDDLE_MODEL: file })
  await until('it is told', () => state() !== 'starting')
  assert.equal(state(), 'ready')
  assert.ok(log.some(({ level, message }) => level === 'warn' && /no chat template/.test(message)))
})

test('closing ends the wait for the next try', async (t) => {
  const hub: FakeHubOptions = { repositories: { 'acme/tiny': {} }, status: 503 }
  const pauseMs = 3_600_000
  const { served, log, plans } = await openServed(t, { HEDDLE_MODEL: 'hf:acme/tiny' }, hub, pauseMs)
  await until('it is told', () => log.length > 0)
  await withTimeout('it is closed', served.close())
  assert.equal(log.length, 1)
  assert.deepEqual(plans, [])
})
