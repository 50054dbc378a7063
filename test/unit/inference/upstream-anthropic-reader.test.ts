import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Refusal } from '../../../src/domain/refusals.ts'
import { createAnthropicReader } from '../../../src/inference/upstream/anthropic/reader.ts'
import { blockOf, endOf, startOf, textBlock } from '../../support/fake-anthropic.ts'

/** Whatever a server with Anthropic's API sends, it is read as an answer or refused with the reason. */

const events = [
  startOf({ input_tokens: 3, cache_read_input_tokens: 2, output_tokens: 1 }),
  ...blockOf(
    0,
    { type: 'thinking', thinking: '', signature: '' },
    { type: 'thinking_delta', thinking: 'Hm' },
    { type: 'signature_delta', signature: 'sig' },
  ),
  ...blockOf(1, { type: 'redacted_thinking', data: 'sealed' }),
  ...textBlock(2, 'Hi'),
  ...blockOf(
    3,
    { type: 'tool_use', id: 'a', name: 'f', input: {} },
    { type: 'input_json_delta', partial_json: '{}' },
  ),
  ...endOf('tool_use', { output_tokens: 5, output_tokens_details: { thinking_tokens: 1 } }),
]
const whole = {
  type: 'message',
  content: [
    { type: 'text', text: 'Hi' },
    { type: 'tool_use', id: 'a', name: 'f', input: { n: 1 } },
  ],
  stop_reason: 'tool_use',
  usage: { input_tokens: 1, output_tokens: 1 },
}

const junk = fc.oneof(
  fc.constantFrom(null, -1, 1.5, 1e308, '', 'x', [], {}, [null], { a: null }, [[]], true),
  fc.jsonValue(),
)

/** The value with one of its values, at any depth, replaced. */
function damaged(value: unknown, [step, ...rest]: readonly number[], other: unknown): unknown {
  if (step === undefined || typeof value !== 'object' || value === null) return other
  const names = Object.keys(value)
  const name = names[step % Math.max(1, names.length)]
  if (name === undefined) return other
  const copy = structuredClone(value) as Record<string, unknown>
  copy[name] = damaged(copy[name], rest, other)
  return copy
}

const create = () => createAnthropicReader({ kind: 'anthropic', inputs: 1, choices: 1, promptLength: 10 })

test('a stream or a message that is damaged anywhere is either read or refused', () => {
  let refused = 0
  let complete = 0
  const damages = fc.array(fc.tuple(fc.array(fc.nat(20), { maxLength: 6 }), junk), {
    minLength: 1,
    maxLength: 3,
  })
  fc.assert(
    fc.property(fc.constantFrom(events, [whole]), damages, (sent: unknown, all) => {
      const reader = create()
      let received = sent
      for (const [steps, other] of all) received = damaged(received, steps, other)
      try {
        for (const event of Array.isArray(received) ? received : [received]) {
          for (const read of reader.read(JSON.stringify(event) ?? '')) {
            if (read.kind !== 'said') continue
            assert.ok(Number.isSafeInteger(read.count) && read.count >= 0)
            for (const part of read.deltas) if ('text' in part) assert.equal(typeof part.text, 'string')
          }
        }
        if (reader.isComplete()) complete++
      } catch (error) {
        assert.ok(error instanceof Refusal, String(error instanceof Error ? error.stack : error))
        assert.equal(error.code, 'upstream_failed')
        refused++
      }
      for (const count of Object.values(reader.usage())) assert.ok(Number.isSafeInteger(count) && count >= 0)
    }),
    { numRuns: 3_000 },
  )
  assert.ok(refused > 100 && complete > 100, `${refused} refused, ${complete} complete`)
})

test('an answer that breaks off has the usage of its beginning, and a token for each piece', () => {
  const reader = create()
  assert.deepEqual(reader.usage(), { prompt: 0, cached: 0, completion: 0, reasoning: 0 })
  for (const event of events.slice(0, -2)) reader.read(JSON.stringify(event))
  assert.deepEqual(reader.usage(), { prompt: 5, cached: 2, completion: 3, reasoning: 1 })
  const bare = create()
  bare.read(JSON.stringify({ type: 'message_start', message: {} }))
  assert.deepEqual(bare.usage(), { prompt: 3, cached: 0, completion: 0, reasoning: 0 })
})

test('an answer whose tokens are not reported at its end has one for each piece', () => {
  const reader = createAnthropicReader({
    kind: 'anthropic',
    inputs: 1,
    choices: 1,
    promptLength: 9,
  })
  const ending = { type: 'message_delta', delta: { stop_reason: 'end_turn' } }
  for (const event of [startOf({ input_tokens: 5 }), ...textBlock(0, 'Hi'), ending])
    reader.read(JSON.stringify(event))
  const { prompt, completion } = reader.usage()
  assert.deepEqual([prompt, completion], [5, 1])
})
