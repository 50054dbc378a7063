import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { generate, startEngine } from './engine.ts'

const file = fileURLToPath(new URL('../../../models/builtin/heddle-tiny.gguf', import.meta.url))

test('the engine emits a marker as its surrogate, and a bounded thought ends with its markers', async (t) => {
  const engine = await startEngine(t, { plan: { file } })
  const { signal } = new AbortController()
  const [token] = await engine.tokenize('<|im_start|>', { special: true, add: false }, signal)
  const text = { skipSpecial: true, spaceSpecial: false, markers: ['<|im_end|>', '<|im_start|>'] }
  const { texts, tokens } = await generate(engine, 'a', {
    text,
    choices: 2,
    sampling: { allowed: [token as number] },
    ending: { maxTokens: 5 },
    thinking: { budget: 3, open: '<think>', close: '\udc00', isOpen: true },
  })
  assert.deepEqual(texts, Array(2).fill('\udc01\udc01\udc01\udc00\udc01'))
  assert.equal(tokens[0]?.filter((one) => one === token).length, 4)
})
