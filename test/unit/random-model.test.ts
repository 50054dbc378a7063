import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { getLlama, type Llama, LlamaLogLevel } from 'node-llama-cpp'
import { writeRandomModel } from '../support/random-model.ts'

const texts = [
  'hello, world',
  "I 'm not , you .",
  '  two spaces before, two after  ',
  '\n\nlines\r\n\tand tabs\u0000',
  'Ünïcödé — 你好 العربية 👩🏽‍🚀',
  '{"name": "call", "arguments": {"n": [1, 2.50, null]}}',
]

let folder: string
let llama: Llama

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'random-model-'))
  llama = await getLlama({ gpu: false, build: 'never', maxThreads: 1, logLevel: LlamaLogLevel.error })
})

after(async () => {
  await llama.dispose()
  await rm(folder, { recursive: true })
})

test('a random model loads, reproduces any text and generates', async () => {
  const path = join(folder, 'small.gguf')
  await writeRandomModel(path)
  assert.ok((await stat(path)).size < 100_000)
  const model = await llama.loadModel({ modelPath: path })
  for (const text of texts) assert.equal(model.detokenize(model.tokenize(text)), text)
  const turn = '<|im_start|>user\nhi<|im_end|>'
  assert.equal(model.tokenize(turn, true).length, '|user\nhi|'.length)
  assert.equal(model.detokenize(model.tokenize(turn, true), true), turn)

  const context = await model.createContext({ contextSize: 256, threads: 1 })
  const said: number[] = []
  for await (const token of context
    .getSequence()
    .evaluate(model.tokenize('hello'), { yieldEogToken: true, temperature: 1, seed: 1 })) {
    if (said.push(token) === 32) break
  }
  assert.equal(said.length, 32)
  assert.ok(new Set(said).size > 4, 'more than one token is repeated')
  await model.dispose()
})

test('a large vocabulary and quantized weights load', async () => {
  const path = join(folder, 'large.gguf')
  await writeRandomModel(path, { vocabulary: 49_152, weights: 'q8_0', layers: 2 })
  const model = await llama.loadModel({ modelPath: path })
  assert.equal(model.tokenizer.detokenize(model.tokenize('thereon')), 'thereon')
  assert.ok(model.tokenize('thereon').length < 4)
  for (const text of texts) assert.equal(model.detokenize(model.tokenize(text)), text)
  await model.dispose()
})

test('the same shape and seed give the same bytes, and another seed gives others', async () => {
  const digests = []
  for (const [name, seed] of [['a', 7] as const, ['b', 7] as const, ['c', 8] as const]) {
    const path = join(folder, `${name}.gguf`)
    await writeRandomModel(path, { seed })
    digests.push(
      createHash('sha256')
        .update(await readFile(path))
        .digest('hex'),
    )
  }
  assert.equal(digests[0], digests[1])
  assert.notEqual(digests[0], digests[2])
})
