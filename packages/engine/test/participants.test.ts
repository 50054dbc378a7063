import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDecodeTimes } from '../loop/decode-times.ts'
import { createParticipants } from '../loop/participants.ts'
import type { Answering } from '../loop/request.ts'
import { createTenantShares } from '../loop/turns/tenant-shares.ts'

const promptLength = 24

/** An answer whose sequence holds so many tokens; with its whole prompt read, its next token is drawn. */
function answering(read: number, since = 0): Answering {
  const request = { prompt: Array.from({ length: promptLength }, () => 1), since }
  return {
    request,
    sequence: { tokens: Array.from({ length: read }, () => 1) },
    drawn: read >= promptLength ? 1 : undefined,
    isIdle: false,
  } as unknown as Answering
}

const reading = (since?: number) => answering(0, since)
const started = (since?: number) => answering(promptLength, since)
const writing = (since?: number) => answering(promptLength + 1, since)

/** Which of the answers take part in the next batch. */
function waiting(readMs: (tokens: number) => number | undefined = (tokens) => 10 * tokens) {
  let time = 0
  const { startingTogether } = createParticipants({
    decodeTimes: createDecodeTimes(),
    shares: createTenantShares(),
    readMs,
    now: () => time,
  })
  return {
    chosen: (...answerings: Answering[]) =>
      startingTogether(answerings).map((own) => answerings.indexOf(own)),
    pass(ms: number) {
      time += ms
    },
  }
}

test('an answer with only its first token waits for the prompts that arrived with it', () => {
  const { chosen } = waiting()
  assert.deepEqual(chosen(started(), reading(20), reading(240)), [1, 2])
  assert.deepEqual(chosen(started(), started(), started()), [0, 1, 2], 'all prompts are read')
  assert.deepEqual(chosen(reading(), reading()), [0, 1])
})

test('an answer that is being written never waits, and nobody waits for a prompt that arrived later', () => {
  const { chosen } = waiting()
  assert.deepEqual(chosen(writing(), reading()), [0, 1])
  assert.deepEqual(chosen(writing(), started(), reading()), [0, 1, 2])
  assert.deepEqual(chosen(started(0), reading(251)), [0, 1])
})

test('nobody waits for prompts that take long, or of which that is not known', () => {
  assert.deepEqual(waiting((tokens) => 166 * tokens).chosen(started(), reading()), [1])
  assert.deepEqual(waiting((tokens) => 167 * tokens).chosen(started(), reading()), [0, 1])
  assert.deepEqual(waiting(() => undefined).chosen(started(), reading()), [0, 1])
})

test('reading that takes longer than expected ends the wait; the next answers may wait again', () => {
  const { chosen, pass } = waiting()
  assert.deepEqual(chosen(started(), reading()), [1])
  pass(3_759)
  assert.deepEqual(chosen(started(), reading()), [1])
  pass(1)
  assert.deepEqual(chosen(started(), reading()), [0, 1])
  assert.deepEqual(chosen(started(), reading()), [1])
})
