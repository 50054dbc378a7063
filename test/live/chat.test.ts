import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { asking, chatUrl, choiceOf, eventsOf } from '../support/chat.ts'
import { writeRandomModel } from '../support/random-model.ts'
import { newFolder, type RunningServer, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

/** Chat completions of the complete server: the command, the engine, and a model that writes nonsense. */
describe('chat completions of a running server', () => {
  const cleaning: (() => unknown)[] = []
  const owner = { after: (clean: () => unknown) => void cleaning.push(clean) }
  let server: RunningServer
  /** The token of one letter, so that answers do not depend on the weights. */
  let letter: number

  before(async () => {
    const folder = await newFolder(owner)
    const file = join(folder, 'tiny.gguf')
    await writeRandomModel(file, { context: 1024 })
    server = await startServer(owner, {
      HEDDLE_DATA: folder,
      HEDDLE_MODEL: file,
      HEDDLE_MODEL_NAME: 'tiny',
      HEDDLE_PARALLEL: '4',
      HEDDLE_THREADS: '1',
      HEDDLE_PRIORITY: 'on',
    })
    await until('the model is ready', async () => (await server.get('/ready')).status === 200)
    const { json } = await ask({ chat_template: 'a', return_token_ids: true, max_tokens: 1 })
    letter = json.prompt_token_ids[0]
  })
  after(async () => {
    assert.equal(await server.end('SIGTERM'), 0)
    for (const clean of cleaning.reverse()) await clean()
  })

  async function ask(fields: Record<string, unknown>) {
    const answer = await server.post(chatUrl, asking(fields))
    const text = await answer.text()
    const isJson = answer.headers.get('content-type')?.startsWith('application/json')
    // biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
    return { status: answer.status, text, json: (isJson ? JSON.parse(text) : undefined) as any }
  }

  /** Only this letter can be written. */
  const saying = (fields: Record<string, unknown> = {}) =>
    ask({ allowed_token_ids: [letter], max_tokens: 6, ...fields })

  test('limits and stops end an answer as documented', async () => {
    for (const [fields, content, finish_reason, stop_reason, count] of [
      [{}, 'aaaaaa', 'length', null, 6],
      [{ max_completion_tokens: 3 }, 'aaa', 'length', null, 3],
      [{ stop: 'aaa' }, '', 'stop', 'aaa', 3],
      [{ stop: ['b', 'aa'], include_stop_str_in_output: true }, 'aa', 'stop', 'aa', 2],
      [{ stop: 'aa', min_tokens: 3 }, 'aa', 'stop', 'aa', 4],
      [{ stop_token_ids: [letter] }, '', 'stop', letter, 1],
      [
        { repetition_detection: { max_pattern_size: 1, min_count: 4 } },
        'aaaa',
        'repetition',
        'repetition_detected',
        4,
      ],
    ] as const) {
      for (const stream of [false, true]) {
        const { status, text, json } = await saying({
          ...fields,
          stream,
          ...(stream && { stream_options: { include_usage: true } }),
        })
        assert.equal(status, 200, text)
        const { chunks } = stream ? eventsOf(text) : { chunks: [] }
        const usage = stream ? chunks.pop()?.usage : json.usage
        const choice = stream ? choiceOf(chunks, 0) : { ...json.choices[0], ...json.choices[0].message }
        assert.deepEqual(
          [choice.content, choice.finish_reason, choice.stop_reason, usage?.completion_tokens],
          [content, finish_reason, stop_reason, count],
          JSON.stringify({ ...fields, stream }),
        )
      }
    }
  })

  test('the same seed gives the same choices, streamed or whole', async () => {
    const fields = { seed: 5, n: 3, max_tokens: 20, logprobs: true, top_logprobs: 2, return_token_ids: true }
    const { json } = await ask(fields)
    const { chunks } = eventsOf((await ask({ ...fields, stream: true })).text)
    for (const { index, message, token_ids, logprobs, finish_reason } of json.choices) {
      const streamed = choiceOf(chunks, index)
      assert.deepEqual(
        [streamed.content, streamed.tokens, streamed.finish_reason],
        [message.content, token_ids, finish_reason],
      )
      assert.equal(streamed.logprobs.length, token_ids.length)
      assert.equal(logprobs.content.length, token_ids.length)
      for (const { logprob, top_logprobs } of logprobs.content) {
        assert.ok(logprob <= 0)
        assert.equal(top_logprobs.length, 2)
        assert.ok(top_logprobs[0].logprob >= top_logprobs[1].logprob)
      }
    }
    const again = await ask(fields)
    assert.deepEqual(
      again.json.choices.map(({ token_ids }: { token_ids: number[] }) => token_ids),
      json.choices.map(({ token_ids }: { token_ids: number[] }) => token_ids),
    )
  })

  test('a computed prompt is reused, but not for another salt', async () => {
    const messages = [{ role: 'user', content: 'The same beginning, again and again. '.repeat(5) }]
    const cached = async (fields: object) =>
      (await saying({ messages, ...fields })).json.usage.prompt_tokens_details.cached_tokens
    assert.equal(await cached({ cache_salt: 'one' }), 0)
    assert.ok((await cached({ cache_salt: 'one' })) > 100)
    assert.equal(await cached({ cache_salt: 'two' }), 0)
  })

  test('a message is continued, and returned with echo', async () => {
    const messages = [...asking().messages, { role: 'assistant', content: 'Well, ' }]
    const open = {
      messages,
      add_generation_prompt: false,
      continue_final_message: true,
      return_token_ids: true,
    }
    const continued = await saying(open)
    assert.equal(continued.json.choices[0].message.content, 'aaaaaa')
    const echoed = await saying({ ...open, echo: true })
    assert.equal(echoed.json.choices[0].message.content, 'Well, aaaaaa')
    assert.equal(echoed.json.prompt_logprobs.length, echoed.json.prompt_token_ids.length)
    assert.equal(echoed.json.prompt_logprobs[0], null)
  })

  test('values that only the model can check are refused before the first byte', async () => {
    for (const [fields, code] of [
      [{ max_tokens: 5_000 }, 'context_length_exceeded'],
      [{ messages: [{ role: 'user', content: 'x'.repeat(5_000) }] }, 'context_length_exceeded'],
      [{ logit_bias: { '99999': 1 } }, 'invalid_value'],
      [{ allowed_token_ids: [99_999] }, 'invalid_value'],
      [{ stop_token_ids: [99_999] }, 'invalid_value'],
      [{ truncate_prompt_tokens: 5_000 }, 'invalid_value'],
    ] as const) {
      for (const stream of [false, true]) {
        const { status, json } = await saying({ ...fields, stream })
        assert.deepEqual([status, json.error.code], [400, code], JSON.stringify(fields))
      }
    }
  })

  test('hostile templates do not affect other requests', async () => {
    const chat_template =
      '{% set ns = namespace(x=[]) %}{% for i in range(99999) %}{% set ns.x = ns.x + [range(99999)] %}{% endfor %}'
    const [hostile, ...others] = await Promise.all([
      ask({ chat_template }),
      ...Array.from({ length: 8 }, () => saying({ max_tokens: 50, n: 2 })),
    ])
    assert.equal(hostile?.json.error.code, 'template_too_costly')
    for (const { status } of others) assert.equal(status, 200)
  })

  test('a priority with several choices is served', async () => {
    const answers = await Promise.all(
      [5, 0, -5].map((priority) => saying({ priority, n: 2, max_tokens: 20 })),
    )
    for (const { status, json } of answers) {
      assert.equal(status, 200)
      assert.equal(json.choices.length, 2)
    }
  })
})

test('a running stream is completed when the server stops', async (t) => {
  const folder = await newFolder(t)
  const file = join(folder, 'tiny.gguf')
  await writeRandomModel(file, { context: 1024 })
  const server = await startServer(t, { HEDDLE_DATA: folder, HEDDLE_MODEL: file, HEDDLE_THREADS: '1' })
  await until('the model is ready', async () => (await server.get('/ready')).status === 200)
  const fields = { stream: true, max_tokens: 900, ignore_eos: true, logprobs: true, top_logprobs: 20 }
  const answer = await server.post(chatUrl, asking(fields))
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = (await reader?.read())?.value ?? ''
  const ended = server.end('SIGTERM')
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read())
    text += piece.value
  const { chunks, error } = eventsOf(text)
  assert.equal(error, undefined)
  const { finish_reason, logprobs } = choiceOf(chunks, 0)
  assert.deepEqual([finish_reason, logprobs.length], ['length', 900])
  assert.equal(await ended, 0)
})
