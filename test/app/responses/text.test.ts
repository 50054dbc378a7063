import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setImmediate as nextRound } from 'node:timers/promises'
import type { Generation } from '../../../packages/engine/index.ts'
import { refuse } from '../../../src/domain/refusals.ts'
import { openApp } from '../../support/app.ts'
import { assertRefused } from '../../support/chat.ts'
import { asking, eventsOf, responseOf, responsesUrl } from '../../support/responses.ts'
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

const backend = scriptedBackend()
const { post } = await openApp({ after }, { backend })

/** The members that differ between two answers to the same request. */
function withoutIds(response: Record<string, unknown>): unknown {
  const own = String(response.id).slice('resp_'.length)
  const { id: _id, created_at: _created, completed_at: _completed, ...rest } = response
  return JSON.parse(JSON.stringify(rest).replaceAll(own, ''))
}

test('an answer has every member that clients read', async () => {
  backend.script = scriptOf('Hel', 'lo')
  const { status, json } = await post(responsesUrl, asking({ metadata: { a: 'b' }, user: 'u1' }))
  assert.equal(status, 200)
  assert.match(json.id, /^resp_[0-9a-f]{32}$/)
  const own = json.id.slice('resp_'.length)
  const { created_at, completed_at, ...rest } = json
  assert.ok(completed_at >= created_at && Date.now() / 1000 - created_at < 600)
  const { prompt } = backend.asked.at(-1) as { prompt: { text: string } }
  assert.equal(prompt.text, '<s><|user|>Hi<|end|><|assistant|>')
  const inputTokens = prompt.text.length
  assert.deepEqual(rest, {
    id: json.id,
    object: 'response',
    background: false,
    conversation: null,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    model: 'scripted',
    output: [
      {
        id: `msg_${own}_0`,
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Hello', annotations: [], logprobs: [] }],
      },
    ],
    parallel_tool_calls: true,
    presence_penalty: 0,
    frequency_penalty: 0,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: 'default',
    status: 'completed',
    store: true,
    temperature: 1,
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: 'auto',
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: 'disabled',
    usage: {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: 3, cache_write_tokens: 0 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: inputTokens + 5,
    },
    user: 'u1',
    metadata: { a: 'b' },
  })
})

test('a stream is these events, in this order', async () => {
  backend.script = oneByOne(scriptOf('Hel', 'lo'))
  const { status, headers, text } = await post(responsesUrl, asking({ stream: true }))
  assert.equal(status, 200)
  assert.equal(headers['content-type'], 'text/event-stream; charset=utf-8')
  const events = eventsOf(text)
  const response = responseOf(events)
  assert.deepEqual(
    events.map(({ type }) => type.replace('response.', '')),
    [
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ],
  )
  assert.equal(response.output[0].content[0].text, 'Hello')
  assert.deepEqual(events[4]?.logprobs, [])
})

const scripts: Record<string, Script> = {
  'a word at a time': scriptOf('Hel', 'lo', ' ', 'there'),
  'nothing at all': scriptOf(),
  'cut off': function* (request) {
    yield prefilled(request)
    yield tokens('Hello', request)
    yield { kind: 'finished', choice: 0, reason: 'length', stop: null }
  },
  repeating: function* (request) {
    yield prefilled(request)
    yield tokens('aaaa', request)
    yield { kind: 'finished', choice: 0, reason: 'repetition', stop: null }
  },
}

for (const [how, script] of Object.entries(scripts)) {
  for (const [pace, played] of [
    ['at once', script],
    ['one by one', oneByOne(script)],
  ] as const) {
    for (const fields of [
      {},
      { store: false, instructions: 'Be kind.', temperature: 0, max_output_tokens: 9 },
      { include: ['message.output_text.logprobs'], top_logprobs: 2 },
    ]) {
      test(`a stream has the same content as the whole answer: ${how}, ${pace}, ${JSON.stringify(fields)}`, async () => {
        backend.script = played
        const { json: whole, status } = await post(responsesUrl, asking(fields))
        assert.equal(status, 200, JSON.stringify(whole))
        const { text } = await post(responsesUrl, asking({ ...fields, stream: true }))
        const streamed = responseOf(eventsOf(text))
        assert.deepEqual(withoutIds(streamed), withoutIds(whole))
      })
    }
  }
}

test('an incomplete answer states the reason', async () => {
  for (const [how, reason] of [
    ['cut off', 'max_output_tokens'],
    ['repeating', 'repetition'],
  ] as const) {
    backend.script = scripts[how] as Script
    const { json } = await post(responsesUrl, asking())
    assert.deepEqual(
      [json.status, json.incomplete_details, json.completed_at, json.output[0].status],
      ['incomplete', { reason }, null, 'incomplete'],
    )
  }
})

test('log-probabilities come with the text that they belong to', async () => {
  backend.script = oneByOne(scriptOf('Hel', 'lo'))
  const fields = { include: ['message.output_text.logprobs'], top_logprobs: 2, stream: true }
  const events = eventsOf((await post(responsesUrl, asking(fields))).text)
  const [first, second] = events.filter(({ type }) => type === 'response.output_text.delta')
  const letters = (given: { token: string }[]) => given.map(({ token }) => token).join('')
  assert.deepEqual([letters(first?.logprobs), letters(second?.logprobs)], ['Hel', 'lo'])
  assert.equal(first?.logprobs[0].top_logprobs.length, 2)
  const { output } = responseOf(events)
  assert.equal(letters(output[0].content[0].logprobs), 'Hello')
})

test('log-probabilities are those of the text, however many tokens arrive at once', async () => {
  const fields = { include: ['message.output_text.logprobs'], stream: true }
  const shown: [string, number][] = [
    ['H', 1],
    ['ello', 4],
    // The end token has no text.
    ['', 1],
  ]
  const drawn = (request: Generation) => {
    const all = tokens('Hello#', request)
    assert.ok(all.kind === 'tokens')
    return all
  }
  const atOnce: Script = function* (request) {
    yield prefilled(request)
    yield { ...drawn(request), text: 'Hello', ends: [1, 2, 3, 4, 5, 5] }
    yield { kind: 'finished', choice: 0, reason: 'stop', stop: null }
  }
  const inPieces: Script = function* (request) {
    yield prefilled(request)
    const all = drawn(request)
    let from = 0
    for (const [text, count] of shown) {
      const to = from + count
      const ends = Array.from({ length: count }, (_, index) => (text === '' ? 0 : index + 1))
      yield {
        ...all,
        text,
        ends,
        tokens: all.tokens.slice(from, to),
        logprobs: all.logprobs?.slice(from, to) ?? [],
      }
      from = to
    }
    yield { kind: 'finished', choice: 0, reason: 'stop', stop: null }
  }
  for (const script of [atOnce, inPieces, oneByOne(inPieces)]) {
    backend.script = script
    const events = eventsOf((await post(responsesUrl, asking(fields))).text)
    const { logprobs } = responseOf(events).output[0].content[0]
    assert.equal(logprobs.map(({ token }: { token: string }) => token).join(''), 'Hello')
  }
})

test('a failure in the middle is the last event', async () => {
  backend.script = oneByOne(function* (request) {
    yield prefilled(request)
    yield tokens('Hel', request)
    yield refuse('engine_failed', { why: 'it was killed' })
  })
  const events = eventsOf((await post(responsesUrl, asking({ stream: true }))).text)
  const response = responseOf(events)
  assert.equal(response.status, 'failed')
  assert.equal(response.error.code, 'server_error')
  assert.match(response.error.message, /it was killed/)
  const whole = await post(responsesUrl, asking())
  assertRefused(whole, { status: 503, code: 'engine_failed', param: null })
})

test('instructions precede the input in the prompt', async () => {
  backend.script = scriptOf('ok')
  await post(
    responsesUrl,
    asking({
      instructions: 'Be kind.',
      input: [
        { role: 'user', content: 'Hi' },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'a' },
            { type: 'input_text', text: 'b' },
          ],
        },
      ],
    }),
  )
  const { prompt } = backend.asked.at(-1) as { prompt: { text: string } }
  assert.equal(
    prompt.text,
    '<s><|system|>Be kind.<|end|><|user|>Hi<|end|><|assistant|>Hello<|end|><|user|>a\nb<|end|><|assistant|>',
  )
})

test('the tokens of an input are counted as for an answer', async () => {
  backend.script = scriptOf('ok')
  const body = asking({ instructions: 'Be kind.' })
  const { json } = await post(responsesUrl, body)
  const counted = await post(`${responsesUrl}/input_tokens`, body)
  assert.deepEqual(counted.json, {
    object: 'response.input_tokens',
    input_tokens: json.usage.input_tokens,
  })
})
