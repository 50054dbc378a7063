import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  type Device,
  type DeviceSearch,
  findDevice,
  installedBuilds,
  ModelError,
  prepareModel,
} from '../../../packages/engine/index.ts'
import { readConfig } from '../../../src/config.ts'
import { writeRandomModel } from '../../support/random-model.ts'
import { newFolder } from '../../support/server.ts'

const card: Device = {
  build: 'cuda',
  names: ['NVIDIA L4'],
  freeMemory: 20 * 1024 ** 3,
  totalMemory: 24 * 1024 ** 3,
  unified: false,
}
const one = { installed: () => ['cuda'], find: async () => card } satisfies DeviceSearch
const none = {
  installed: () => [],
  find: async () => ({ missing: 'no cuda build is installed' }),
} satisfies DeviceSearch

async function prepared(t: TestContext, settings: Record<string, string>, search: DeviceSearch) {
  const file = join(await newFolder(t), 'tiny.gguf')
  await writeRandomModel(file, { layers: 3 })
  return prepareModel(file, readConfig({ HEDDLE_MODEL: file, ...settings }), search)
}

test('an available GPU is used, and reported with the number of layers', async (t) => {
  const { plan, warnings } = await prepared(t, {}, one)
  assert.deepEqual(
    [plan.gpu, plan.gpuLayers, plan.threads, plan.device, warnings],
    ['cuda', 4, 1, 'cuda: NVIDIA L4, 4 of 4 layers', []],
  )
  const some = await prepared(t, { HEDDLE_GPU: 'cuda', HEDDLE_GPU_LAYERS: '2' }, one)
  assert.equal(some.plan.device, 'cuda: NVIDIA L4, 2 of 4 layers')
})

test('without a GPU build, or with HEDDLE_GPU=off, a model runs on the CPU', async (t) => {
  for (const [settings, search] of [
    [{}, none],
    [{ HEDDLE_GPU: 'off' }, one],
  ] as const) {
    const { plan, warnings } = await prepared(t, settings, search)
    assert.deepEqual([plan.gpu, plan.gpuLayers, plan.device, warnings], [false, 0, 'cpu', []])
  }
})

test('auto reports why an installed build is not used', async (t) => {
  const broken = { ...one, find: async () => ({ missing: 'the cuda build finds no device here' }) }
  const { plan, warnings } = await prepared(t, {}, broken)
  assert.deepEqual([plan.device, warnings], ['cpu', ['the cuda build finds no device here']])
})

test('a full GPU: auto uses the CPU with a warning, and a GPU that was named is refused', async (t) => {
  const full = { ...one, find: async () => ({ ...card, freeMemory: 1024 ** 3 }) }
  const { plan, warnings } = await prepared(t, {}, full)
  assert.equal(plan.device, 'cpu')
  assert.match(
    warnings.join(),
    /^not one layer of .*tiny\.gguf fits into the free memory of NVIDIA L4: it runs on the CPU$/,
  )
  await assert.rejects(prepared(t, { HEDDLE_GPU: 'cuda' }, full), (error) => {
    assert.ok(error instanceof ModelError && error.isTemporary)
    assert.match(error.message, /^HEDDLE_GPU: given cuda, and not one layer .*; accepted: auto, off\.$/)
    return true
  })
})

test('layers without a GPU are refused', async (t) => {
  await assert.rejects(
    prepared(t, { HEDDLE_GPU_LAYERS: '20' }, none),
    /^ModelError: HEDDLE_GPU_LAYERS: given 20, but no GPU build is installed; accepted: auto, or a GPU/,
  )
  await assert.rejects(
    prepared(t, { HEDDLE_GPU: 'off', HEDDLE_GPU_LAYERS: 'all' }, one),
    /^ModelError: HEDDLE_GPU_LAYERS: given all, but HEDDLE_GPU is off; accepted/,
  )
})

const absent = (['cuda', 'vulkan'] as const).find((build) => !installedBuilds().includes(build))

test('a named build that is not installed is refused', { skip: absent === undefined }, async (t) => {
  assert.deepEqual(await findDevice(absent ?? 'cuda'), { missing: `no ${absent} build is installed` })
  await assert.rejects(
    prepared(t, { HEDDLE_GPU: String(absent) }, {}),
    new RegExp(
      `^ModelError: HEDDLE_GPU: given ${absent}, but no ${absent} build is installed; accepted: auto, off, or`,
    ),
  )
})
