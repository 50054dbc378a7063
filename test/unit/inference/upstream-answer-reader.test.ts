import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Refusal } from '../../../src/domain/refusals.ts'
import type { AnswerEvent } from '../../../src/inference/model.ts'
import { createReader } from '../../../src/inference/upstream/answer-reader.ts'
import { type UpstreamKind, upstreamKinds } from '../../../src/inference/upstream/kinds.ts'

/** Whatever an upstream server sends, it is read as an answer or refused with the reason. */

const logprob = { token: 'token_id:7', bytes: [97], logprob: -0.5 }

/** A chunk with every field that is read. */
const chat = {
  id: 'x',
  usage: {
    prompt_tokens: 3,
    completion_tokens: 2,
    prompt_tokens_details: { cached_tokens: 1 },
    completion_tokens_details: { reasoning_tokens: 1 },
  },
  prompt_token_ids: [1, 2],
  prompt_logprobs: [null, { 5: { logprob: -1, rank: 1, decoded_token: 'b' } }],
  choices: [
    {
      index: 0,
      delta: {
        role: 'assistant',
        content: 'Hi',
        reasoning: 'Hm',
        refusal: null,
        tool_calls: [{ index: 0, id: 'one', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      token_ids: [7],
      logprobs: { content: [{ ...logprob, top_logprobs: [logprob, logprob] }] },
      finish_reason: 'stop',
      stop_reason: 5,
    },
  ],
}

const text = {
  choices: [
    {
      index: 1,
      text: 'Hi',
      logprobs: { tokens: ['a'], token_logprobs: [-1], top_logprobs: [{ a: -1 }], text_offset: [0] },
      finish_reason: 'length',
    },
  ],
}

const whole = {
  choices: [{ index: 0, message: { content: 'Hi', function_call: { name: 'f', arguments: {} } } }],
}

const junk = fc.oneof(
  fc.constantFrom(null, -1, 1.5, 1e308, '', 'x', [], {}, [null], { a: null }, [[]], true),
  fc.jsonValue(),
)

/** The value with one of its values, at any depth, replaced. */
function damaged(value: unknown, steps: readonly number[], other: unknown): unknown {
  const [step, ...rest] = steps
  if (step === undefined || typeof value !== 'object' || value === null) return other
  const names = Object.keys(value)
  const name = names[step % Math.max(1, names.length)]
  if (name === undefined) return other
  const members = Object.entries(value).map(([key, member]) => [
    key,
    key === name ? damaged(member, rest, other) : member,
  ])
  return Array.isArray(value) ? members.map(([, member]) => member) : Object.fromEntries(members)
}

function checkEvents(events: readonly AnswerEvent[]): void {
  const isToken = (id: unknown) => Number.isSafeInteger(id) && Number(id) >= -1
  for (const event of events) {
    if (event.kind !== 'said') continue
    assert.ok(event.tokens.every(isToken), JSON.stringify(event))
    assert.ok(Number.isSafeInteger(event.count) && event.count >= 0)
    for (const { token, bytes, logprob, top } of event.logprobs ?? []) {
      assert.ok(
        isToken(token) && Number.isFinite(logprob) && bytes instanceof Uint8Array && Array.isArray(top),
      )
    }
  }
}

test('a chunk that is damaged anywhere is either read or refused', () => {
  let refused = 0
  fc.assert(
    fc.property(
      fc.constantFrom(...upstreamKinds) as fc.Arbitrary<UpstreamKind>,
      fc.constantFrom(chat, text, whole),
      fc.array(fc.tuple(fc.array(fc.nat(20), { maxLength: 7 }), junk), { minLength: 1, maxLength: 3 }),
      (kind, chunk, damages) => {
        const reader = createReader({ kind, inputs: 2, choices: 1, promptLength: 10 })
        let given: unknown = chunk
        for (const [steps, other] of damages) given = damaged(given, steps, other)
        try {
          checkEvents(reader.read(JSON.stringify(given)))
        } catch (error) {
          assert.ok(error instanceof Refusal, String(error instanceof Error ? error.stack : error))
          if (kind !== 'heddle') assert.equal(error.code, 'upstream_failed')
          refused++
        }
        for (const count of Object.values(reader.usage()))
          assert.ok(Number.isSafeInteger(count) && count >= 0)
        for (const prompt of reader.prompts) assert.ok(prompt.every((id) => Number.isSafeInteger(id)))
      },
    ),
    { numRuns: 5_000 },
  )
  assert.ok(refused > 100, `${refused} refused`)
})

test('a text that is not a chunk is refused', () => {
  for (const data of ['', '{"a', '5', 'null', '"x"', '<html>']) {
    const reader = createReader({ kind: 'openai', inputs: 1, choices: 1, promptLength: 1 })
    assert.throws(() => reader.read(data), { code: 'upstream_failed' }, data)
  }
})

/** The calls that are read from chunks, or from a whole message. */
function callsOf(...chunks: object[]): string[] {
  const reader = createReader({ kind: 'openai', inputs: 1, choices: 1, promptLength: 1 })
  const calls: string[] = []
  for (const chunk of chunks) {
    for (const event of reader.read(JSON.stringify({ choices: [chunk] }))) {
      for (const part of event.kind === 'said' ? event.deltas : []) {
        if (part.kind === 'call') calls[part.index] = `${part.name} `
        if (part.kind === 'arguments') calls[part.index] += part.text
      }
    }
  }
  return calls
}

const pieceOf = (...tool_calls: object[]) => ({ index: 0, delta: { tool_calls } })
const callOf = (id: string | undefined, args: string) => ({ id, function: { name: 'f', arguments: args } })

test('calls are told apart by their number, their id or their place', () => {
  const two = ['f {}', 'f {"b":2}']
  const [first, second] = [callOf('a', '{}'), callOf('b', '{"b":2}')]
  assert.deepEqual(callsOf(pieceOf({ ...first, index: 0 }), pieceOf({ ...second, index: 0 })), two)
  assert.deepEqual(callsOf(pieceOf({ ...first, index: null }), pieceOf({ ...second, index: null })), two)
  assert.deepEqual(callsOf(pieceOf(first, second)), two)
  const more = { index: 0, function: { arguments: '":2}' } }
  assert.deepEqual(
    callsOf(pieceOf({ ...first, index: 0 }), pieceOf({ ...callOf('b', '{"b'), index: 0 }), pieceOf(more)),
    two,
  )
  for (const id of ['a', '', undefined])
    assert.deepEqual(
      callsOf({ index: 0, message: { tool_calls: [callOf(id, '{}'), callOf(id, '{"b":2}')] } }),
      two,
    )
})

/** What comes of chunks, as one would write it down. */
function writtenOf(...chunks: object[]): string[] {
  const reader = createReader({ kind: 'openai', inputs: 1, choices: 1, promptLength: 1 })
  return chunks
    .flatMap((chunk) => reader.read(JSON.stringify({ choices: [chunk] })))
    .concat(reader.cut())
    .flatMap((event) => (event.kind === 'said' ? event.deltas : []))
    .map((part) => {
      if (part.kind === 'call') return `${part.index} ${part.id}`
      if (part.kind === 'callEnd') return `${part.index} end`
      return part.kind === 'arguments' ? `${part.index} ${part.text}` : part.text
    })
}

const moreOf = (index: number, text: string) => pieceOf({ index, function: { arguments: text } })
const inTurns = [
  pieceOf({ ...callOf('a', ''), index: 0 }, { ...callOf('b', ''), index: 1 }),
  pieceOf({ ...callOf('c', '{}'), index: 2 }),
  moreOf(0, '{"x"'),
  moreOf(1, '{"y":'),
  { index: 0, delta: { content: 'Hm' } },
  moreOf(0, ':1}'),
  moreOf(1, '2}'),
]

test('calls whose arguments come in turns are read one after the other', () => {
  const first = ['0 a', '0 {"x"', '0 :1}', '0 end', '1 b', '1 {"y":', '1 2}', '1 end', '2 c', '2 {}']
  const ended = [...inTurns, { index: 0, delta: {}, finish_reason: 'tool_calls' }]
  assert.deepEqual(writtenOf(...ended), [...first, '2 end', 'Hm'])
  // The server has not said that the last one is complete.
  assert.deepEqual(writtenOf(...inTurns), [...first, '2 end', 'Hm'])
  const begun = ['0 a', '0 {"x"']
  assert.deepEqual(writtenOf(...inTurns.slice(0, 3)), [...begun, '1 b', '1 end', '2 c', '2 {}'])
})

test('a text after a call ends it, and one in the middle of its arguments comes after them', () => {
  const text = { index: 0, delta: { content: 'Hm' } }
  const call = pieceOf({ ...callOf('a', '{'), index: 0 })
  const whole = ['0 a', '0 {', '0 }', '0 end', 'Hm']
  assert.deepEqual(writtenOf(call, moreOf(0, '}'), text), whole)
  assert.deepEqual(
    writtenOf(call, text, moreOf(0, '}'), { index: 0, delta: {}, finish_reason: 'tool_calls' }),
    whole,
  )
})

test('a text ends a call without arguments, and so does the end of what is cut off', () => {
  const none = pieceOf({ ...callOf('a', ''), index: 0 })
  const text = { index: 0, delta: { content: 'Hm' } }
  assert.deepEqual(writtenOf(none, text), ['0 a', '0 end', 'Hm'])
  const next = pieceOf({ ...callOf('b', '{"x"'), index: 1 })
  const ended = { index: 0, delta: {}, finish_reason: 'length' }
  assert.deepEqual(writtenOf(none, next, ended), ['0 a', '0 end', '1 b', '1 {"x"'])
})

test('long arguments beside a call that waits are read in pieces', (t) => {
  const pieces = Array.from({ length: 5_000 }, () => moreOf(0, '1,{}'))
  const calls = [
    pieceOf({ ...callOf('a', '{"x":['), index: 0 }),
    pieceOf({ ...callOf('b', '{}'), index: 1 }),
    ...pieces,
  ]
  const parse = t.mock.method(JSON, 'parse')
  assert.equal(writtenOf(...calls).length, pieces.length + 4)
  // Each chunk is parsed, and the arguments are not read again with each.
  assert.ok(parse.mock.callCount() < calls.length + 10, `${parse.mock.callCount()} times`)
})

test('arguments of a call that has ended are refused unless they are white space', () => {
  const ended = [
    pieceOf({ ...callOf('a', '{}'), index: 0 }),
    pieceOf({ ...callOf('b', '{'), index: 1 }),
    moreOf(0, ' \n'),
  ]
  assert.deepEqual(writtenOf(...ended), ['0 a', '0 {}', '0 end', '1 b', '1 {'])
  assert.throws(() => writtenOf(...ended, moreOf(0, '}')), /more arguments of a tool call/)
})

test('a usage before the answer does not end the count', () => {
  const reader = createReader({ kind: 'openai', inputs: 1, choices: 1, promptLength: 40 })
  const say = (content: string, usage?: object) =>
    reader.read(JSON.stringify({ choices: [{ index: 0, delta: { content } }], usage }))
  const counts = () => [reader.usage().prompt, reader.usage().completion]
  say('', { prompt_tokens: 3 })
  for (const word of ['a', 'b', 'c']) say(word)
  assert.deepEqual(counts(), [3, 3])
  say('d', { prompt_tokens: 3, completion_tokens: 0 })
  say('e')
  assert.deepEqual(counts(), [3, 5])
  say('', { prompt_tokens: 3, completion_tokens: 2 })
  assert.deepEqual(counts(), [3, 2])
})

test('a usage that no answer has is estimated', () => {
  const usageOf = (usage: object) => {
    const reader = createReader({ kind: 'openai', inputs: 1, choices: 1, promptLength: 40 })
    reader.read(JSON.stringify({ choices: [{ index: 0, delta: { content: 'Hi' } }], usage }))
    const { prompt, completion } = reader.usage()
    return [prompt, completion]
  }
  assert.deepEqual(usageOf({ prompt_tokens: Number.MAX_SAFE_INTEGER, completion_tokens: 1 }), [10, 1])
  assert.deepEqual(usageOf({ prompt_tokens: 3 }), [3, 1])
})

test('a call whose arguments are whole is complete, whatever the end of the answer is called', () => {
  const endsOf = (args: string) => {
    const reader = createReader({ kind: 'openai', inputs: 1, choices: 1, promptLength: 1 })
    const choice = { ...pieceOf({ ...callOf('a', args), index: 0 }), finish_reason: 'stop' }
    return reader
      .read(JSON.stringify({ choices: [choice] }))
      .flatMap((event) => (event.kind === 'said' ? event.deltas : []))
      .filter(({ kind }) => kind === 'callEnd').length
  }
  assert.deepEqual([endsOf('{"a":1}'), endsOf('{"a":')], [1, 0])
})

test('parts of content are thoughts and texts, and others have no words', () => {
  const reader = createReader({ kind: 'openai', inputs: 1, choices: 1, promptLength: 1 })
  const content = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] },
    { type: 'reference', reference_ids: [1] },
    { type: 'text', text: 'Hi' },
  ]
  const events = reader.read(JSON.stringify({ choices: [{ index: 0, delta: { content, refusal: false } }] }))
  assert.deepEqual(
    events.flatMap((event) => (event.kind === 'said' ? event.deltas : [])),
    [
      { kind: 'reasoning', text: 'Hm' },
      { kind: 'content', text: 'Hi' },
    ],
  )
})

test('an id for each piece of a call makes no other calls', () => {
  const reader = createReader({ kind: 'openai', inputs: 1, choices: 1, promptLength: 1 })
  const deltas = [callOf('a', '{"a"'), callOf('b', ':1}'), callOf('c', '{}')].flatMap((call) =>
    reader
      .read(JSON.stringify({ choices: [pieceOf({ ...call, index: 0 })] }))
      .flatMap((event) => (event.kind === 'said' ? event.deltas : [])),
  )
  const calls = deltas.filter(({ kind }) => kind === 'call')
  assert.equal(calls.length, 2)
})
