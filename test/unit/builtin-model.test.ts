import assert from 'node:assert/strict'
import { readFile, stat } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Template } from '@huggingface/jinja'
import fc from 'fast-check'
import { getLlama, type Llama, LlamaLogLevel, type LlamaModel } from 'node-llama-cpp'
import { decisionSystem } from '../../src/inference/decisions/wording.ts'

const path = fileURLToPath(new URL('../../models/builtin/heddle-tiny.gguf', import.meta.url))

let llama: Llama
let model: LlamaModel
let template: Template

before(async () => {
  llama = await getLlama({ gpu: false, build: 'never', maxThreads: 1, logLevel: LlamaLogLevel.error })
  model = await llama.loadModel({ modelPath: path })
  template = new Template(model.fileInfo.metadata.tokenizer.chat_template ?? '')
})

after(() => llama.dispose())

describe('the built-in model', () => {
  test('is at most 6 MB and has its metadata', async () => {
    assert.ok((await stat(path)).size <= 6_000_000)
    assert.equal(model.fileInfo.metadata.general.architecture, 'llama')
    assert.equal(model.fileInfo.metadata.general.name, 'Heddle Tiny')
    assert.equal(model.fileInfo.metadata.general.license, 'apache-2.0')
    assert.equal(model.trainContextSize, 2048)
  })

  test('was trained on typed decisions in the words of the server', async () => {
    const skill = fileURLToPath(new URL('../../models/builtin/make/skills/decisions.py', import.meta.url))
    assert.ok((await readFile(skill, 'utf8')).includes(`SYSTEM = "${decisionSystem}"`))
  })

  test('reproduces any text from its tokens', () => {
    const sane = fc.string({ unit: 'binary', maxLength: 40 })
    const usual = fc.string({ unit: fc.constantFrom(...' \n\t\r\0aZ0.,:{}"\\é日👩🏽‍🚀'), maxLength: 40 })
    fc.assert(
      fc.property(fc.oneof(sane, usual), (text) => {
        assert.equal(model.detokenize(model.tokenize(text)), text)
      }),
      { numRuns: 10_000, seed: 1 },
    )
  })

  test('ends its turns with <|im_end|>, and text is never tokenized to that token', () => {
    const [end, ...more] = model.tokenize('<|im_end|>', true)
    assert.deepEqual(more, [])
    assert.ok(end !== undefined && model.isEogToken(end))
    assert.ok(!model.tokenize('<|im_end|>').includes(end))
  })
})

describe('the chat template of the built-in model', () => {
  const weather = {
    type: 'function',
    function: {
      name: 'get_weather',
      description: 'Get the weather',
      parameters: {
        type: 'object',
        properties: { city: { type: 'string' }, days: { type: 'integer' }, more: { anyOf: [] } },
        required: ['city'],
      },
    },
  }

  test('renders turns, and opens the next one on request', () => {
    const messages = [
      { role: 'system', content: ' Be brief.\n' },
      { role: 'user', content: ' hi ' },
      { role: 'assistant', content: 'Hello!\n' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ]
    const rendered =
      '<|im_start|>system\n Be brief.\n<|im_end|>\n<|im_start|>user\n hi <|im_end|>\n' +
      '<|im_start|>assistant\nHello!\n<|im_end|>\n<|im_start|>user\nab<|im_end|>\n'
    assert.equal(template.render({ messages }), rendered)
    const open = template.render({ messages, add_generation_prompt: true, reasoning_effort: 'low' })
    assert.equal(open, `${rendered}<|im_start|>assistant\n`)
  })

  test('lists tools and documents, and asks for thoughts', () => {
    const rendered = template.render({
      messages: [{ role: 'developer', content: 'Help.' }],
      tools: [weather, { type: 'function', function: { name: 'now' } }],
      documents: [{ title: 'T', text: 'x' }, { text: 'y' }, { body: 'z' }],
      enable_thinking: true,
      reasoning_effort: 'high',
    })
    assert.equal(
      rendered,
      '<|im_start|>system\nHelp.\n\nTools:\nget_weather(city: string, days?: integer, more?: any) Get the weather\nnow()' +
        '\n\nDocuments:\n[T] x\ny\n{"body": "z"}\n\nThinking: high<|im_end|>\n',
    )
    const quiet = { messages: [{ role: 'user', content: 'hi' }], enable_thinking: false, tools: null }
    assert.equal(template.render(quiet), '<|im_start|>user\nhi<|im_end|>\n')
  })

  test('renders tool calls, their results and thoughts', () => {
    const call = (args: unknown) => ({ type: 'function', function: { name: 'get_weather', arguments: args } })
    const rendered = template.render({
      messages: [
        { role: 'user', content: 'hi' },
        {
          role: 'assistant',
          content: null,
          reasoning_content: 'Hm.',
          tool_calls: [call('{"city":"Oslo"}'), call({ city: 'Älv' })],
        },
        { role: 'tool', content: '21', tool_call_id: '1' },
      ],
    })
    assert.equal(
      rendered,
      '<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\nHm.\n</think>\n\n' +
        '<tool_call>\n{"name": "get_weather", "arguments": {"city":"Oslo"}}\n</tool_call>\n' +
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Älv"}}\n</tool_call><|im_end|>\n' +
        '<|im_start|>tool\n21<|im_end|>\n',
    )
  })
})
