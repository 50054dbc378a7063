import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { createSequenceMemory } from '../loop/sequence-memory.ts'
import { createSequences, type Sequence } from '../loop/sequences.ts'
import type { CachedPrompt, FoundPrompt } from '../prompt-cache/prompt-cache.ts'

const count = 3
const place = fc.nat(count - 1)
const step = fc.oneof(
  fc.record({ kind: fc.constant('copy' as const), from: place, to: place }),
  fc.record({
    kind: fc.constant('restore' as const),
    to: place,
    tokens: fc.array(fc.nat(9), { maxLength: 6 }),
  }),
  fc.record({ kind: fc.constant('cut' as const), to: place, left: fc.nat(6) }),
  fc.record({ kind: fc.constant('keep' as const), to: place }),
  fc.record({
    kind: fc.constant('batch' as const),
    to: place,
    tokens: fc.array(fc.nat(9), { maxLength: 3 }),
  }),
)

/** As in llama.cpp: a copy is noted and made by the next batch; a restored state is written at once. */
function scripted() {
  const held: number[][] = Array.from({ length: count }, () => [])
  const noted: [from: number, to: number][] = []
  const sequences = createSequences(count, 1).all
  const isRight = ({ id, tokens }: Sequence) =>
    assert.deepEqual(held[id]?.slice(0, tokens.length), tokens, `sequence ${id}`)
  const memory = createSequenceMemory({
    context: {
      copy: async (from, to) => noted.push([from, to]),
      forget: () => true,
    },
    cache: {
      keep: async (sequence) => isRight(sequence),
      async restore({ cached: kept }, to) {
        held[to.id] = Array.from(kept.tokens)
        to.tokens = Array.from(kept.tokens)
      },
    },
    doOthersWrite: () => false,
  })
  return {
    memory,
    sequences,
    batch(sequence: Sequence, tokens: readonly number[]) {
      for (const [from, to] of noted.splice(0)) held[to] = (held[from] as number[]).slice()
      memory.copiesAreMade()
      held[sequence.id] = [...sequence.tokens, ...tokens]
      sequence.tokens.push(...tokens)
      for (const one of sequences) isRight(one)
    },
  }
}

function found(tokens: readonly number[]): FoundPrompt {
  const kept: CachedPrompt = {
    tokens: Uint32Array.from(tokens),
    key: undefined,
    state: undefined,
    file: undefined,
    used: 0,
  }
  return { cached: kept, shared: tokens.length, costs: 0 }
}

test('the recorded tokens of a sequence match its memory, whatever is copied, restored, kept and cut before a batch', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const { memory, sequences, batch } = scripted()
      const at = (id: number) => sequences[id] as Sequence
      for (const one of steps) {
        if (one.kind === 'copy' && one.from !== one.to) await memory.copy(at(one.from), at(one.to))
        else if (one.kind === 'restore') await memory.restore(found(one.tokens), at(one.to))
        else if (one.kind === 'cut') memory.cut(at(one.to), one.left)
        else if (one.kind === 'keep') await memory.keepWhatIsLost(at(one.to))
        else if (one.kind === 'batch') batch(at(one.to), one.tokens)
      }
      batch(at(0), [])
    }),
    { numRuns: 2_000 },
  )
})
