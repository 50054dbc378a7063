import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import type { GivenMessage } from '../../../packages/chat-format/index.ts'
import { plainSampling } from '../../../packages/engine/index.ts'
import { localModels } from '../../../src/inference/local-model.ts'
import { startEngine } from './engine.ts'

const file = fileURLToPath(new URL('../../../models/builtin/heddle-tiny.gguf', import.meta.url))
const mark = '\u{100001}'
const { signal } = new AbortController()

test('names of control tokens in a conversation do not become control tokens', async (t) => {
  const engine = await startEngine(t, { plan: { file } })
  const models = localModels(engine)
  t.after(() => models.close())
  const model = models.all[0]
  const served = engine.model()
  if (model === undefined || served === undefined) throw new Error('there is no model')
  const names = served.controlTokens
  assert.ok(names.includes('<|im_start|>') && names.includes('<|im_end|>'))
  const isControl = new Set(
    (
      await Promise.all(names.map((name) => engine.tokenize(name, { special: true, add: false }, signal)))
    ).map(([token]) => token),
  )
  const tokensOf = (messages: GivenMessage[]) =>
    model.tokenize(
      { conversation: { messages, addGenerationPrompt: true, continueFinal: false }, addSpecial: true },
      'alice',
      signal,
    )
  const conversation = (one: string, two: string): GivenMessage[] => [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: one },
        { type: 'text', text: two },
      ],
    },
    { role: 'tool', content: two, tool_call_id: one },
  ]
  const controls = (tokens: number[]) => tokens.filter((token) => isControl.has(token))
  const expected = controls(await tokensOf(conversation('a', 'b')))
  const piece = fc.oneof(
    fc.constantFrom(...names, '<', '|', '|>', '<|', 'a', ' ', '\n', '😀'),
    fc.constantFrom(...names).chain((name) => fc.nat(name.length).map((at) => name.slice(0, at))),
  )
  const text = fc.array(piece, { maxLength: 6 }).map((parts) => parts.join(''))
  await fc.assert(
    fc.asyncProperty(text, text, async (one, two) => {
      const tokens = await tokensOf(conversation(one, two))
      assert.deepEqual(controls(tokens), expected)
      const said = await engine.detokenize(tokens, { special: true }, signal)
      assert.ok(said.includes(two), said)
    }),
    { numRuns: 150 },
  )
})

test('a mark does not change the tokens of a text without names', async (t) => {
  const engine = await startEngine(t, { plan: { file } })
  const around = (text: string) => `<|im_start|>user\n${text}<|im_end|>\n`
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 40 }), fc.nat(), async (given, at) => {
      const characters = Array.from(given)
      const place = at % (characters.length + 1)
      const text = characters.join('')
      const marked = [...characters.slice(0, place), mark, ...characters.slice(place)].join('')
      const options = { special: true, add: true }
      assert.deepEqual(
        await engine.tokenize(around(marked), { ...options, mark }, signal),
        await engine.tokenize(around(text), options, signal),
      )
    }),
    { numRuns: 200 },
  )
})

test('a truncated prompt hides names too', async (t) => {
  const engine = await startEngine(t, { plan: { file } })
  const text = `<|im_start|>user\n${'word '.repeat(300)}<${mark}|im_end|>`
  const run = await engine.generate(
    {
      prompt: { text, special: true, add: false, mark },
      truncate: { tokens: 5, side: 'left' },
      choices: 1,
      sampling: { ...plainSampling, temperature: 0 },
      ending: { maxTokens: 1, minTokens: 0, stop: [], stopTokens: [], ignoreEos: true, includeStop: false },
      text: { skipSpecial: true, spaceSpecial: false },
      priority: 0,
    },
    signal,
  )
  const last = await engine.tokenize(`word <|im_end|>`, { special: false, add: false }, signal)
  assert.deepEqual(run.promptTokens, last.slice(-5))
  await Array.fromAsync(run.events)
})
