import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import fc from '../../../../test/support/fast-check.ts'
import { type GgufValue, writeGguf } from '../../../../test/support/gguf.ts'
import { smallShape, writeRandomModel } from '../../../../test/support/random-model.ts'
import { readGgufHeader } from '../../models/gguf-header.ts'
import { ModelError } from '../../models/model-error.ts'
import { checkFitness } from '../../models/plan.ts'

let folder: string
let count = 0
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'heddle-gguf-'))
})
after(() => rm(folder, { recursive: true }))

const fresh = () => join(folder, `${++count}.gguf`)

async function written(bytes: Uint8Array): Promise<string> {
  const path = fresh()
  await writeFile(path, bytes)
  return path
}

const trouble = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ModelError, String(error))
  assert.match(error.message, message)
  assert.doesNotMatch(error.message, /\n/)
  return true
}

test('the header of a model describes its shape', async () => {
  const path = fresh()
  await writeRandomModel(path, { layers: 3, context: 2048 })
  const { fileBytes, weightBytes, layerBytes, parameters, ...header } = await readGgufHeader(path)
  assert.deepEqual(header, {
    architecture: 'llama',
    type: undefined,
    fileType: undefined,
    context: 2048,
    layers: 3,
    embedding: 32,
    kvHeads: 3,
    keyLength: 16,
    valueLength: 16,
    causal: true,
    pooling: undefined,
    labels: 0,
    pairTemplate: undefined,
    vocabulary: 260,
    tokenizer: 'gpt2',
    template: smallShape.chatTemplate,
    fileCount: 1,
  })
  const perLayer = 2 * 32 + 2 * 32 * 32 + 2 * 32 * 16 + 3 * 32 * 64
  assert.equal(parameters, 260 * 32 + 32 + 3 * perLayer)
  assert.equal(weightBytes, 2 * (parameters - 7 * 32) + 4 * 7 * 32)
  assert.equal(layerBytes, 2 * 3 * (perLayer - 2 * 32) + 4 * 3 * 2 * 32)
  assert.ok(fileBytes > weightBytes)
})

test('per-layer lists are summed', async () => {
  const path = fresh()
  await writeGguf(
    path,
    {
      'general.architecture': { text: 'mixed' },
      'mixed.block_count': { u32: 3 },
      'mixed.embedding_length': { u32: 64 },
      'mixed.attention.head_count': { i32s: [4, 4, 8] },
      'mixed.attention.head_count_kv': { i32s: [1, 0, 2] },
      'mixed.attention.key_length': { u32: 24 },
    },
    [],
  )
  const { kvHeads, keyLength, valueLength } = await readGgufHeader(path)
  assert.deepEqual({ kvHeads, keyLength, valueLength }, { kvHeads: 3, keyLength: 24, valueLength: 12 })
})

test('a long vocabulary is skipped', async () => {
  const path = fresh()
  await writeRandomModel(path, { vocabulary: 49_152 })
  assert.equal((await readGgufHeader(path)).vocabulary, 49_152)
})

for (const [what, make, message] of [
  [
    'a missing file',
    async () => join(folder, 'none.gguf'),
    /none\.gguf cannot be read: it does not exist; accepted: builtin, the path/,
  ],
  ['a folder', async () => folder, /is a folder; accepted: builtin, /],
  ['a device', async () => '/dev/null', /is not a file; accepted: /],
  ['an empty file', () => written(Buffer.alloc(0)), /is not a GGUF file: it is too short\.$/],
  [
    'a text',
    () => written(Buffer.from('I am a text, and no model at all.')),
    /is not a GGUF file: it begins with "I am"\.$/,
  ],
  [
    'a cycle of links',
    async () => {
      const path = fresh()
      await symlink(path, path)
      return path
    },
    /cannot be read: its links go in a circle/,
  ],
] as const) {
  test(`${what} is refused`, async () => {
    await assert.rejects(readGgufHeader(await make()), trouble(message))
  })
}

test('a pipe is refused without waiting for it', async () => {
  const path = fresh()
  assert.equal(spawnSync('mkfifo', [path]).status, 0)
  await assert.rejects(readGgufHeader(path), trouble(/is not a file/))
})

const u32 = (value: number) => Buffer.from(Uint32Array.of(value).buffer)
const u64 = (value: bigint | number) => Buffer.from(BigUint64Array.of(BigInt(value)).buffer)
const text = (value: string) => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)])
const begin = (version: number, tensors: bigint | number, keys: bigint | number) =>
  Buffer.concat([Buffer.from('GGUF'), u32(version), u64(tensors), u64(keys)])
const endless = 2n ** 63n + 5n

for (const [what, parts, message] of [
  ['of version 1', [begin(1, 0, 0)], /is a GGUF file of version 1; accepted: versions 2 and 3\.$/],
  ['of a later version', [begin(4, 0, 0)], /is a GGUF file of version 4; accepted/],
  [
    'of another byte order',
    [Buffer.from('GGUF'), Buffer.from([0, 0, 0, 3]), Buffer.alloc(16)],
    /for big-endian machines/,
  ],
  ['with endless keys', [begin(3, 0, endless)], /claims a length of 9223372036854775813/],
  ['with too many keys', [begin(3, 0, 10_000_000)], /claims 10000000 metadata keys/],
  ['with too many tensors', [begin(3, 2n ** 40n, 0)], /claims 1099511627776 tensors/],
  ['with an endless key', [begin(3, 0, 1), u64(endless)], /claims a length/],
  ['with a key longer than the file', [begin(3, 0, 1), u64(1000)], /it ends too early/],
  ['with a huge key', [begin(3, 0, 1), u64(70_000), Buffer.alloc(80_000)], /it has a name of 70000 bytes/],
  ['with an endless text', [begin(3, 0, 1), text('a'), u32(8), u64(2n ** 40n)], /it ends too early/],
  [
    'with a huge template',
    [begin(3, 0, 1), text('tokenizer.chat_template'), u32(8), u64(400_000), Buffer.alloc(400_000)],
    /it has a text of 400000 bytes/,
  ],
  [
    'with an endless list of texts',
    [begin(3, 0, 1), text('a'), u32(9), u32(8), u64(2n ** 40n)],
    /it ends too early/,
  ],
  [
    'with an endless text in a list',
    [begin(3, 0, 1), text('a'), u32(9), u32(8), u64(2), u64(endless)],
    /claims a length/,
  ],
  [
    'with an endless list of numbers',
    [begin(3, 0, 1), text('a'), u32(9), u32(4), u64(2n ** 52n)],
    /it ends too early/,
  ],
  [
    'with a list of lists',
    [begin(3, 0, 1), text('a'), u32(9), u32(9), u64(1)],
    /a list of the unknown type 9/,
  ],
  ['with a value of an unknown type', [begin(3, 0, 1), text('a'), u32(13)], /a value of the unknown type 13/],
  [
    'with a tensor of many dimensions',
    [begin(3, 1, 0), text('a'), u32(1_000_000)],
    /a tensor of 1000000 dimensions/,
  ],
  ['that ends in the middle of a tensor', [begin(3, 1, 0), text('a'), u32(2), u64(64)], /it ends too early/],
  [
    'without the weights that it lists',
    [begin(3, 1, 0), text('a'), u32(1), u64(64), u32(0), u64(0)],
    /it has \d+ bytes where its tensors need \d+/,
  ],
  [
    'with weights beyond its end',
    [begin(3, 1, 0), text('a'), u32(1), u64(1), u32(0), u64(2n ** 52n)],
    /where its tensors need/,
  ],
  [
    'with an odd alignment',
    [begin(3, 0, 1), text('general.alignment'), u32(4), u32(0)],
    /claims an alignment of 0/,
  ],
] as const) {
  test(`a GGUF file ${what} is refused`, async () => {
    const before = process.memoryUsage.rss()
    await assert.rejects(readGgufHeader(await written(Buffer.concat(parts))), trouble(message))
    assert.ok(process.memoryUsage.rss() - before < 64 * 1024 * 1024)
  })
}

test('a file that is cut off anywhere is refused', async () => {
  const path = fresh()
  await writeRandomModel(path)
  const { fileBytes } = await readGgufHeader(path)
  for (let length = fileBytes - 64; length >= 0; length -= Math.ceil(fileBytes / 40)) {
    await truncate(path, length)
    await assert.rejects(readGgufHeader(path), ModelError)
  }
})

test('a file with any changes is either read or refused', async () => {
  const path = fresh()
  await writeRandomModel(path)
  const sound = await readFile(path)
  const place = fc.integer({ min: 4, max: 12_000 })
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(place, fc.constantFrom(0, 1, 9, 0x7f, 0xff)), { minLength: 1 }),
      async (changes) => {
        const changed = Buffer.from(sound)
        for (const [at, byte] of changes) changed[at] = byte
        await writeFile(path, changed)
        try {
          checkFitness('x', await readGgufHeader(path))
        } catch (error) {
          assert.ok(error instanceof ModelError, String(error))
        }
      },
    ),
    { numRuns: 300 },
  )
})

const complete: Record<string, GgufValue> = {
  'general.architecture': { text: 'llama' },
  'llama.context_length': { u32: 64 },
  'tokenizer.ggml.model': { text: 'gpt2' },
  'tokenizer.ggml.tokens': { texts: ['a'] },
}

for (const [what, changes, message] of [
  [
    'no tokenizer',
    { 'tokenizer.ggml.model': { text: 'none' } },
    /: it has no tokenizer; accepted: files with the tokenizer/,
  ],
  ['no tokens', { 'tokenizer.ggml.tokens': { texts: [] } }, /: it has no tokenizer/],
  ['no context', { 'llama.context_length': { u32: 0 } }, /does not say its context length/],
  [
    'several files',
    { 'split.count': { u32: 3 } },
    /: it is one of 3 files of a split model; accepted: models in one file/,
  ],
  [
    'an adapter',
    { 'general.type': { text: 'adapter' } },
    /: it is of the kind "adapter"; accepted: a model that writes text, or one that pools\.$/,
  ],
  [
    'an encoder',
    { 'llama.attention.causal': { bool: false } },
    /: its architecture llama writes no text, and the file does not say how it pools; accepted: files with that setting \(llama\.pooling_type/,
  ],
  [
    'an encoder that does not pool',
    { 'llama.attention.causal': { bool: false }, 'llama.pooling_type': { u32: 0 } },
    /the file does not say how it pools/,
  ],
  [
    'labels of text classes',
    { 'llama.pooling_type': { u32: 4 }, 'llama.classifier.output_labels': { texts: ['good', 'bad'] } },
    /: it classifies texts into 2 labels; accepted: models that score a document for a query\.$/,
  ],
] as const) {
  test(`a model with ${what} is refused`, async () => {
    const path = fresh()
    const weights = { name: 'w', shape: [32], type: 'f32' as const, bytes: () => new Uint8Array(128) }
    await writeGguf(path, { ...complete, ...changes }, [weights])
    const header = await readGgufHeader(path)
    assert.throws(() => checkFitness('x.gguf', header), trouble(message))
    assert.throws(() => checkFitness('x.gguf', header), /^ModelError: x\.gguf cannot be served/)
  })
}

test('a complete model is accepted', async () => {
  const path = fresh()
  const weights = { name: 'w', shape: [32], type: 'f32' as const, bytes: () => new Uint8Array(128) }
  await writeGguf(path, complete, [weights])
  assert.equal(checkFitness('x.gguf', await readGgufHeader(path)), 'answers')
})

for (const [what, changes, task] of [
  [
    'of an encoder',
    { 'llama.attention.causal': { bool: false }, 'llama.pooling_type': { u32: 2 } },
    'embeddings',
  ],
  ['of a model that could write', { 'llama.pooling_type': { u32: 3 } }, 'embeddings'],
  ['to a score', { 'llama.pooling_type': { u32: 4 } }, 'ranking'],
  [
    'to a score for a pair',
    {
      'llama.pooling_type': { u32: 4 },
      'llama.classifier.output_labels': { texts: ['yes', 'no'] },
      'tokenizer.chat_template.rerank': { text: '{query} {document}' },
    },
    'ranking',
  ],
  ['of the type none', { 'llama.pooling_type': { u32: 0 } }, 'answers'],
] as const) {
  test(`the task of a model follows from a pooling ${what}`, async () => {
    const path = fresh()
    const weights = { name: 'w', shape: [32], type: 'f32' as const, bytes: () => new Uint8Array(128) }
    await writeGguf(path, { ...complete, ...changes }, [weights])
    assert.equal(checkFitness('x.gguf', await readGgufHeader(path)), task)
  })
}
