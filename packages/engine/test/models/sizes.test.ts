import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { freemem, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { GgufHeader } from '../../models/gguf-header.ts'
import { chosenKvTypes, usualKvTypes } from '../../models/kv-types.ts'
import { inspectMachine } from '../../models/machine.ts'
import { ModelError } from '../../models/model-error.ts'
import { chooseSizes, type SizesGiven } from '../../models/sizes.ts'
import type { Device } from '../../native/device.ts'

const gibi = 1024 ** 3

/** Seven billion parameters at four bits, with 128 KiB of cache per token. */
const large: GgufHeader = {
  fileBytes: 4 * gibi,
  architecture: 'llama',
  type: 'model',
  fileType: 15,
  context: 131_072,
  layers: 32,
  embedding: 4096,
  kvHeads: 32 * 8,
  keyLength: 128,
  valueLength: 128,
  causal: true,
  pooling: undefined,
  labels: 0,
  pairTemplate: undefined,
  vocabulary: 128_000,
  tokenizer: 'gpt2',
  template: '',
  parameters: 7_000_000_000,
  weightBytes: 4 * gibi,
  layerBytes: 3.5 * gibi,
  fileCount: 1,
}
const tiny = {
  ...large,
  context: 2048,
  embedding: 64,
  kvHeads: 4,
  keyLength: 16,
  valueLength: 16,
  vocabulary: 2048,
  parameters: 1_500_000,
  weightBytes: 3_000_000,
  layerBytes: 2_000_000,
}

const nothing: SizesGiven = {
  context: 0,
  parallel: 0,
  threads: 0,
  batch: 0,
  gpu_layers: 'auto',
  memory_check: true,
}
const machine = (gibibytes: number) => ({ freeMemory: gibibytes * gibi, boundBy: 'this machine', cores: 6 })

for (const [what, header, given, free, expected] of [
  ['a large model with much memory', large, {}, 64, [8192, 4, 6, 512]],
  ['a large model with less memory', large, {}, 12, [4096, 4, 6, 512]],
  ['a large model with little memory', large, {}, 6, [4096, 2, 6, 512]],
  ['a large model with hardly any memory', large, {}, 4.6, [1024, 1, 6, 512]],
  ['a tiny model', tiny, {}, 4, [2048, 8, 1, 512]],
  ['a given context', large, { context: 131_072 }, 64, [131_072, 1, 6, 512]],
  ['a given number of sequences', large, { parallel: 16 }, 64, [2048, 16, 6, 512]],
  [
    'given values for everything',
    large,
    { context: 1000, parallel: 3, threads: 2, batch: 64 },
    64,
    [1000, 3, 2, 64],
  ],
] as const) {
  test(`sizes of ${what}`, () => {
    const { context, parallel, threads, batch } = chooseSizes(
      'm',
      header,
      { ...nothing, ...given },
      machine(free),
    )
    assert.deepEqual([context, parallel, threads, batch], expected)
  })
}

const encoder = { ...tiny, causal: false, pooling: 'mean' as const, context: 8192 }
const lastToken = { ...tiny, pooling: 'last' as const, context: 8192 }

for (const [what, header, given, expected] of [
  ['an encoder reads a text at once', encoder, {}, [2048, 1, 2048]],
  ['an encoder whose context is given', encoder, { context: 8192, parallel: 8, batch: 64 }, [8192, 1, 8192]],
  ['a decoder reads a text in pieces', lastToken, {}, [8192, 1, 512]],
  [
    'a decoder that pools by the mean reads a text at once',
    { ...lastToken, pooling: 'mean' as const },
    {},
    [2048, 1, 2048],
  ],
] as const) {
  test(`sizes of a model that pools: ${what}`, () => {
    const { context, parallel, batch } = chooseSizes('m', header, { ...nothing, ...given }, machine(16))
    assert.deepEqual([context, parallel, batch], expected)
  })
}

const gpu = (gibibytes: number): Device => ({
  build: 'cuda',
  names: ['NVIDIA L4'],
  freeMemory: gibibytes * gibi,
  totalMemory: 24 * gibi,
  unified: false,
})

for (const [what, given, ram, device, expected] of [
  ['all of it fits', {}, 16, gpu(23), [33, 8192, 4, 1]],
  ['all of it fits with a shorter context', {}, 16, gpu(6.5), [33, 4096, 2, 1]],
  ['some layers fit', {}, 16, gpu(3), [6, 8192, 4, 6]],
  [
    'fewer layers fit next to a longer context',
    { context: 32_768, parallel: 1 },
    16,
    gpu(3),
    [6, 32_768, 1, 6],
  ],
  ['no layer fits', {}, 16, gpu(1), [0, 8192, 4, 6]],
  ['a number of layers is given', { gpu_layers: 20 }, 16, gpu(23), [20, 8192, 4, 6]],
  ['more layers are given than exist', { gpu_layers: 99 }, 16, gpu(23), [33, 8192, 4, 1]],
  ['all layers are requested', { gpu_layers: 'all' }, 16, gpu(6.5), [33, 4096, 2, 1]],
  ['threads are given', { threads: 3 }, 16, gpu(23), [33, 8192, 4, 3]],
  ['it shares the memory of the machine', {}, 16, { ...gpu(12), unified: true }, [33, 8192, 4, 1]],
] as const) {
  test(`layers on a GPU when ${what}`, () => {
    const with_ = { ...machine(ram), device }
    const { gpuLayers, context, parallel, threads } = chooseSizes('m', large, { ...nothing, ...given }, with_)
    assert.deepEqual([gpuLayers, context, parallel, threads], expected)
  })
}

test('layers that do not fit into the GPU memory are refused with the figures', () => {
  const given = { ...nothing, gpu_layers: 'all', context: 8192, parallel: 4 } as const
  assert.throws(() => chooseSizes('m.gguf', large, given, { ...machine(64), device: gpu(8) }), {
    name: 'ModelError',
    message:
      'm.gguf does not fit with 33 layers on the GPU: it needs about 8.4 GiB (weights 4.0 GiB, 4 × 8192 tokens of context ' +
      '4.0 GiB, work space 410 MiB) and NVIDIA L4 has 7.0 GiB free; accepted: fewer HEDDLE_GPU_LAYERS, or less HEDDLE_CONTEXT, ' +
      'HEDDLE_PARALLEL or HEDDLE_BATCH (HEDDLE_MEMORY_CHECK=off tries anyway).',
  })
  const { gpuLayers } = chooseSizes(
    'm.gguf',
    large,
    { ...given, memory_check: false },
    { ...machine(64), device: gpu(8) },
  )
  assert.equal(gpuLayers, 33)
})

test('the layers outside of the GPU must fit into the memory of the machine', () => {
  const given = { ...nothing, gpu_layers: 4, context: 8192, parallel: 4 } as const
  assert.throws(
    () => chooseSizes('m.gguf', large, given, { ...machine(6), device: gpu(23) }),
    /with 4 layers on the GPU: it needs about 7\.6 GiB .* and this machine has 6\.0 GiB free; accepted: a smaller model/,
  )
  const shared = { ...machine(6), device: { ...gpu(23), unified: true } }
  assert.throws(
    () => chooseSizes('m.gguf', large, given, shared),
    /it needs about 8\.9 GiB .* and this machine has/,
  )
})

test('a context longer than the model was trained for is refused', () => {
  assert.throws(
    () => chooseSizes('m.gguf', tiny, { ...nothing, context: 4096 }, machine(64)),
    new ModelError('HEDDLE_CONTEXT: given 4096; m.gguf was trained for 2048 tokens; accepted: at most that.'),
  )
})

test('a model that does not fit is refused with the figures, unless the check is off', () => {
  const given = { ...nothing, context: 8192, parallel: 4 }
  assert.throws(() => chooseSizes('m.gguf', large, given, machine(6)), {
    name: 'ModelError',
    message:
      'm.gguf does not fit: it needs about 8.5 GiB (weights 4.0 GiB, 4 × 8192 tokens of context 4.0 GiB, work space 506 MiB) ' +
      'and this machine has 6.0 GiB free; accepted: a smaller model or quantization, or less HEDDLE_CONTEXT, ' +
      'HEDDLE_PARALLEL or HEDDLE_BATCH (HEDDLE_MEMORY_CHECK=off tries anyway).',
  })
  assert.throws(() => chooseSizes('m.gguf', large, nothing, machine(2)), /1 × 512 tokens of context/)
  const { context } = chooseSizes('m.gguf', large, { ...given, memory_check: false }, machine(6))
  assert.equal(context, 8192)
})

async function rootOf(t: TestContext, files: Record<string, string>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'heddle-root-'))
  t.after(() => rm(root, { recursive: true }))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  return root
}

test('the memory is bounded by the limit of the control group or of a parent group', async (t) => {
  const root = await rootOf(t, {
    'proc/self/cgroup': '0::/pod/container\n',
    'sys/fs/cgroup/pod/memory.max': '50000000\n',
    'sys/fs/cgroup/pod/memory.current': '40000000\n',
    'sys/fs/cgroup/pod/memory.stat': 'anon 1\ninactive_file 5000000\n',
    'sys/fs/cgroup/pod/container/memory.max': '40000000\n',
    'sys/fs/cgroup/pod/container/memory.current': '10000000\n',
  })
  const { freeMemory, boundBy } = await inspectMachine(root)
  assert.equal(freeMemory, 15_000_000)
  assert.equal(boundBy, 'its control group (/sys/fs/cgroup/pod/memory.max)')
})

test('control groups of version 1 bound the memory, too', async (t) => {
  const root = await rootOf(t, {
    'proc/self/cgroup': '9:cpu:/x\n4:memory:/box\n0::/\n',
    'sys/fs/cgroup/memory/box/memory.limit_in_bytes': '30000000\n',
    'sys/fs/cgroup/memory/box/memory.usage_in_bytes': '10000000\n',
    'sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
    'sys/fs/cgroup/memory/memory.usage_in_bytes': '10000000\n',
  })
  assert.equal((await inspectMachine(root)).freeMemory, 20_000_000)
})

test('without limits, the memory of the machine is the bound', async (t) => {
  for (const files of [
    {},
    {
      'proc/self/cgroup': '0::/a\n',
      'sys/fs/cgroup/a/memory.max': 'max\n',
      'sys/fs/cgroup/a/memory.current': '5\n',
    },
  ]) {
    const { freeMemory, boundBy, cores } = await inspectMachine(await rootOf(t, files))
    assert.equal(boundBy, 'this machine')
    assert.ok(Math.abs(freeMemory - freemem()) < 2 * gibi)
    assert.ok(cores >= 1)
  }
})

test('two threads of a core count as one core', { skip: process.platform !== 'linux' }, async (t) => {
  const root = await rootOf(t, {
    'sys/devices/system/cpu/cpu0/topology/thread_siblings_list': '0-1\n',
    'sys/devices/system/cpu/cpu1/topology/thread_siblings_list': '0-1\n',
  })
  assert.equal((await inspectMachine(root)).cores, 1)
})

test('the prompt cache has twice the size of the sequences, at most a quarter of the free memory, or a given size', () => {
  const cacheOf = (given: Partial<SizesGiven>, free: number, header: GgufHeader = tiny) =>
    chooseSizes('m', header, { ...nothing, ...given }, machine(free)).promptCache
  const ofSequences = 2048 * 8 * 4 * 2 * (16 + 16)
  assert.equal(cacheOf({}, 4), 2 * ofSequences)
  const left = cacheOf({}, 12, large)
  assert.ok(left > 0.4 * gibi && left < 1.5 * gibi, `${left}`)
  assert.equal(cacheOf({ prompt_cache: 12_345_678 }, 4), 12_345_678)
  assert.equal(cacheOf({ prompt_cache: 0 }, 4), 0)
  assert.equal(cacheOf({}, 16, encoder), 0)
  assert.throws(() => cacheOf({ prompt_cache: 5 * gibi }, 4), {
    message:
      /prompt cache 5\.0 GiB, work space .*, or less HEDDLE_PROMPT_CACHE, HEDDLE_CONTEXT, HEDDLE_PARALLEL/,
  })
})

test('keys and values of fewer bits need less memory, and impossible types are refused with the setting', () => {
  const given = { ...nothing, context: 8192, parallel: 4, prompt_cache: 0 } as const
  assert.throws(() => chooseSizes('m', large, given, machine(7)), /does not fit/)
  const small = chooseSizes('m', large, { ...given, kv_keys: 'q8_0', kv_values: 'q4_0' }, machine(7))
  assert.deepEqual(small.kv, { keys: 'q8_0', values: 'q4_0' })
  assert.throws(
    () => chooseSizes('m', large, { ...given, kv_values: 'q4_0', flash_attention: 'off' }, machine(64)),
    new ModelError(
      'HEDDLE_KV_VALUES: given q4_0 with HEDDLE_FLASH_ATTENTION=off; accepted: f32, f16, bf16, or flash attention, which quantized values need.',
    ),
  )
  assert.throws(
    () => chooseSizes('m.gguf', tiny, { ...nothing, kv_keys: 'q8_0' }, machine(64)),
    new ModelError(
      'HEDDLE_KV_KEYS: given q8_0, whose blocks have 32 values, and the heads of m.gguf have 16; accepted: f32, f16, bf16.',
    ),
  )
})

test('keys and values are f16 by default, except for the built-in model on an x64 CPU', () => {
  const ours = { model: 'builtin', batch: 0, flash_attention: 'auto' } as const
  const fast = { keys: 'q8_0', values: 'bf16' }
  assert.deepEqual(chosenKvTypes(ours, true, 'x64'), fast)
  assert.deepEqual(chosenKvTypes({ ...ours, flash_attention: 'off', batch: 512 }, true, 'x64'), fast)
  for (const [given, isOnCpu, arch] of [
    [ours, true, 'arm64'],
    [ours, false, 'x64'],
    [{ ...ours, flash_attention: 'on' }, true, 'x64'],
    [{ ...ours, batch: 1024 }, true, 'x64'],
    [{ ...ours, model: './models/tiny.gguf' }, true, 'x64'],
  ] as const)
    assert.deepEqual(chosenKvTypes(given, isOnCpu, arch), usualKvTypes)
  const kvOf = (given: Partial<SizesGiven>) =>
    chooseSizes('m', { ...tiny, keyLength: 32 }, { ...nothing, ...given }, machine(4)).kv
  assert.deepEqual(kvOf({ kv_keys: 'auto', kv_values: 'auto' }), usualKvTypes)
  assert.deepEqual(
    kvOf({ model: 'builtin', kv_keys: 'q8_0' }),
    { keys: 'q8_0', values: 'f16' },
    'the two types are chosen together or not at all',
  )
})
