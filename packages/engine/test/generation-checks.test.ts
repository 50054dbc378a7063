import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generationOf } from '../../../test/support/generations.ts'
import { refusedWith } from '../../../test/support/refusals.ts'
import { checkGeneration } from '../loop/checks.ts'
import type { NativeModel } from '../native/native.ts'

const model = {
  vocabulary: { size: 100 } as NativeModel['vocabulary'],
  tokenize: () => [],
}
const room = { context: 10, parallel: 1 }

const check = (prompt: number, maxTokens: number | undefined, isClipped: boolean) =>
  checkGeneration(
    generationOf({
      prompt: { tokens: Array<number>(prompt).fill(1) },
      ending: { ...(maxTokens !== undefined && { maxTokens }), isClipped },
    }),
    model,
    room,
  ).maxTokens

test('an answer that is too long is refused, or clipped to the room in the context', () => {
  assert.equal(check(4, 6, false), 6)
  assert.throws(() => check(4, 7, false), refusedWith('context_length_exceeded'))
  assert.equal(check(4, undefined, false), 6)
  assert.equal(check(4, 5, true), 5)
  assert.equal(check(4, 1_000_000, true), 6)
  assert.equal(check(9, 1_000_000, true), 1)
})

test('a prompt that leaves no room is refused in both cases', () => {
  for (const isClipped of [false, true]) {
    assert.throws(() => check(10, 1, isClipped), refusedWith('context_length_exceeded'))
  }
})
