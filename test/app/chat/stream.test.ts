import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as delay, setImmediate as nextRound } from 'node:timers/promises'
import type { GenerationEvent } from '../../../packages/engine/index.ts'
import { refuse } from '../../../src/domain/refusals.ts'
import { openApp } from '../../support/app.ts'
import { asking, chatUrl, choiceOf, eventsOf } from '../../support/chat.ts'
import { prefilled, type Script, scriptedBackend, scriptOf, tokens } from '../../support/scripted-backend.ts'

/** The same events one at a time, with pauses, so that no two can be combined into one chunk. */
function oneByOne(script: Script): Script {
  return async function* (request, signal) {
    for await (const turn of script(request, signal)) {
      yield turn
      for (let rounds = 0; rounds < 3; rounds++) await nextRound()
    }
  }
}

test('a stream is exactly these chunks', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend(oneByOne(scriptOf('Hel', 'lo'))) })
  for (const url of [chatUrl, `${chatUrl}/`]) {
    const { status, headers, text } = await post(url, asking({ stream: true }))
    assert.equal(status, 200)
    assert.equal(headers['content-type'], 'text/event-stream; charset=utf-8')
    assert.equal(headers['cache-control'], 'no-cache')
    assert.equal(headers['x-accel-buffering'], 'no')
    assert.match(String(headers['x-request-id']), /./)
    const { chunks } = eventsOf(text)
    const { id, created, model, system_fingerprint } = chunks[0] ?? {}
    const common = { id, object: 'chat.completion.chunk', created, model, system_fingerprint }
    assert.match(String(id), /^chatcmpl-[0-9a-f]{32}$/)
    const chunk = (delta: object, end: object = { finish_reason: null }) => ({
      ...common,
      choices: [{ index: 0, delta, logprobs: null, ...end }],
    })
    assert.deepEqual(chunks, [
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'Hel' }),
      chunk({ content: 'lo' }),
      chunk({}, { finish_reason: 'stop', stop_reason: null }),
    ])
  }
})

const scripts: Record<string, Script> = {
  'a word at a time': scriptOf('Hel', 'lo', ' ', 'there'),
  'nothing at all': scriptOf(),
  'held back text': function* (request) {
    yield prefilled(request)
    for (let choice = 0; choice < request.choices; choice++) {
      yield { ...tokens('abc', request, choice), text: '' } as GenerationEvent
      yield { ...tokens('d', request, choice), text: 'abc' } as GenerationEvent
    }
    for (let choice = request.choices - 1; choice >= 0; choice--) {
      yield { ...tokens('', request, choice), text: 'd' } as GenerationEvent
      yield { kind: 'finished', choice, reason: 'stop', stop: 'end' }
    }
  },
  'choices that end at different times': function* (request) {
    yield prefilled(request)
    for (let choice = 0; choice < request.choices; choice++) {
      for (let i = 0; i <= choice; i++) yield tokens(`${i}`, request, choice)
      yield { kind: 'finished', choice, reason: 'length', stop: null }
    }
  },
}

const backend = scriptedBackend()
const shared = await openApp({ after }, { backend })

for (const [how, script] of Object.entries(scripts)) {
  for (const [pace, played] of [
    ['at once', script],
    ['one by one', oneByOne(script)],
  ] as const) {
    for (const fields of [
      {},
      { n: 3 },
      { n: 2, logprobs: true, top_logprobs: 2, return_token_ids: true },
      { logprobs: true, return_tokens_as_token_ids: true },
    ]) {
      test(`a stream has the same content as the whole answer: ${how}, ${pace}, ${JSON.stringify(fields)}`, async () => {
        backend.script = played
        const { json: whole } = await shared.post(chatUrl, asking(fields))
        const streamed = asking({ ...fields, stream: true, stream_options: { include_usage: true } })
        const { chunks } = eventsOf((await shared.post(chatUrl, streamed)).text)
        const last = chunks.pop()
        assert.deepEqual(last?.choices, [])
        assert.deepEqual(last?.usage, whole.usage)
        for (const { choices, usage } of chunks) {
          assert.equal(choices.length, 1)
          assert.equal(usage, undefined)
        }
        for (const [
          index,
          { message, logprobs, finish_reason, stop_reason, token_ids },
        ] of whole.choices.entries()) {
          assert.deepEqual(choiceOf(chunks, index), {
            role: message.role,
            content: message.content,
            logprobs: logprobs?.content ?? [],
            tokens: token_ids ?? [],
            finish_reason,
            stop_reason,
          })
        }
        const withPrompt = chunks.filter((chunk) => 'prompt_token_ids' in chunk)
        assert.deepEqual(
          withPrompt.map(({ prompt_token_ids }) => prompt_token_ids),
          'return_token_ids' in fields ? [whole.prompt_token_ids] : [],
        )
        assert.equal(withPrompt[0] ?? chunks[0], chunks[0])
      })
    }
  }
}

test('choices are interleaved, in the order of their generation', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend(oneByOne(scriptOf('a', 'b'))) })
  const { chunks } = eventsOf((await post(chatUrl, asking({ n: 2, stream: true }))).text)
  assert.deepEqual(
    chunks.map(({ choices: [choice] }) => [choice?.index, choice?.delta.content ?? choice?.finish_reason]),
    [
      [0, ''],
      [1, ''],
      [0, 'a'],
      [1, 'a'],
      [0, 'b'],
      [1, 'b'],
      [0, 'stop'],
      [1, 'stop'],
    ],
  )
})

test('the last text shares a chunk with the end when both are available', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend(scriptOf('Hel', 'lo')) })
  const { chunks } = eventsOf((await post(chatUrl, asking({ stream: true }))).text)
  assert.deepEqual(
    chunks.map(({ choices: [choice] }) => [choice?.delta, choice?.finish_reason]),
    [
      [{ role: 'assistant', content: '' }, null],
      [{ content: 'Hello' }, 'stop'],
    ],
  )
})

test('the usage of each chunk grows to the final usage', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend(oneByOne(scriptOf('Hel', 'lo'))) })
  const stream_options = { include_usage: true, continuous_usage_stats: true }
  const { chunks } = eventsOf((await post(chatUrl, asking({ stream: true, stream_options, n: 2 }))).text)
  const counts = chunks.map(({ usage }) => usage?.completion_tokens)
  assert.deepEqual(counts, [0, 0, 3, 3, 5, 5, 5, 5, 10])
  for (const { usage } of chunks) {
    assert.equal(usage?.total_tokens, (usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0))
  }
  const alone = asking({ stream: true, stream_options: { continuous_usage_stats: true }, n: 2 })
  assert.deepEqual(
    eventsOf((await post(chatUrl, alone)).text).chunks.map(({ usage }) => usage?.completion_tokens),
    counts.slice(0, -1),
    'without include_usage only the last chunk is missing',
  )
})

test('held back text makes no chunk, unless its tokens are requested', async (t) => {
  const script = oneByOne(scripts['held back text'] as Script)
  const { post } = await openApp(t, { backend: scriptedBackend(script) })
  const contents = async (fields: object) =>
    eventsOf((await post(chatUrl, asking({ ...fields, stream: true }))).text).chunks.map(
      ({ choices: [choice] }) => choice?.delta.content,
    )
  assert.deepEqual(await contents({}), ['', 'abc', 'd', undefined])
  assert.deepEqual(await contents({ return_token_ids: true }), ['', undefined, 'abc', 'd', undefined])
})

test('a failure in the middle is an event, and the stream ends', async (t) => {
  const failing: Script = function* (request) {
    yield prefilled(request)
    yield tokens('Hel', request)
    yield refuse('engine_failed', { why: 'it was killed' })
  }
  const backend = scriptedBackend(failing)
  const { post } = await openApp(t, { backend })
  const asked = asking({ stream: true, stream_options: { include_usage: true } })
  for (const script of [failing, oneByOne(failing)]) {
    backend.script = script
    const { status, text } = await post(chatUrl, asked)
    const { chunks, error } = eventsOf(text)
    assert.equal(status, 200)
    assert.deepEqual(
      chunks.map(({ choices: [choice] }) => choice?.delta.content),
      ['', 'Hel'],
    )
    assert.deepEqual([error?.type, error?.param, error?.code], ['overloaded_error', null, 'engine_failed'])
    assert.match(String(error?.message), /it was killed/)
  }
  backend.script = function* () {
    yield new Error('a fault of ours')
  }
  const { text } = await post(chatUrl, asked)
  assert.equal(eventsOf(text).error?.code, 'internal_error')
  assert.ok(!text.includes('a fault of ours'))
})

test('comments keep the connection alive while the client waits', async (t) => {
  const backend = scriptedBackend(async function* (request) {
    await delay(50)
    yield* scriptOf('Hello')(request, new AbortController().signal)
  })
  const { post } = await openApp(t, { backend, streams: { keepAliveMs: 5 } })
  const { chunks, comments } = eventsOf((await post(chatUrl, asking({ stream: true }))).text)
  assert.ok(comments >= 1)
  assert.equal(choiceOf(chunks, 0).content, 'Hello')
})
