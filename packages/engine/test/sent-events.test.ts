import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import type { GenerationEvent } from '../backend.ts'
import { receivedEvent, sentEvent } from '../events/sent-events.ts'

const candidate = {
  token: fc.nat(200_000),
  bytes: fc.uint8Array({ maxLength: 12 }),
  logprob: fc.double({ max: 0, noNaN: true }),
}
const plain = { noNullPrototype: true }
const logprobs = fc.array(
  fc.record({ ...candidate, top: fc.array(fc.record(candidate, plain), { maxLength: 20 }) }, plain),
  { maxLength: 5 },
)

test('log-probabilities arrive exactly as they were sent', () => {
  fc.assert(
    fc.property(logprobs, (given) => {
      const event: GenerationEvent = { kind: 'tokens', choice: 1, text: 'é', tokens: [5], logprobs: given }
      const wire = structuredClone(sentEvent(event))
      assert.deepEqual(receivedEvent(wire), event)
    }),
  )
})

test('bytes that are a view of a larger buffer arrive alone', () => {
  const whole = Uint8Array.from({ length: 300 }, (_, at) => at)
  const one = { token: 7, bytes: whole.subarray(250, 254), logprob: -1, top: [] }
  const sent = sentEvent({ kind: 'tokens', choice: 0, text: '', tokens: [7], logprobs: [one] })
  assert.equal(sent.kind === 'tokens' && sent.logprobs?.bytes, '\u00fa\u00fb\u00fc\u00fd')
  const received = receivedEvent(sent)
  assert.deepEqual(received.kind === 'tokens' && received.logprobs, [
    { ...one, bytes: Uint8Array.of(250, 251, 252, 253) },
  ])
})

test('events without log-probabilities are sent unchanged', () => {
  const events: GenerationEvent[] = [
    { kind: 'tokens', choice: 0, text: 'a', tokens: [1] },
    { kind: 'prefilled', cachedTokens: 3 },
  ]
  assert.deepEqual(events.map(sentEvent), events)
  assert.deepEqual(events.map(sentEvent).map(receivedEvent), events)
})
