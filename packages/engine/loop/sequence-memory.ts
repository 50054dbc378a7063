import type { NativeContext } from '../native/native.ts'
import type { createPromptCache, FoundPrompt } from '../prompt-cache/prompt-cache.ts'
import type { Sequence } from './sequences.ts'

interface MemoryParts {
  context: Pick<NativeContext, 'copy' | 'forget'>
  cache: Pick<ReturnType<typeof createPromptCache>, 'keep' | 'restore'>
  /** Whether callers are decoding and have to wait meanwhile. */
  doOthersWrite(): boolean
}

export type SequenceMemory = ReturnType<typeof createSequenceMemory>

/** Changes the recorded tokens of a sequence together with llama.cpp's memory of it. Used only between two batches. */
export function createSequenceMemory({ context, cache, doOthersWrite }: MemoryParts) {
  /**
   * llama.cpp only notes a copy, and makes it at the start of the next batch (`llama_kv_cache::seq_cp`, `update`).
   * Until then the source must not change, and the target has nothing yet that could be kept.
   */
  const noted = { from: new Set<Sequence>(), to: new Set<Sequence>() }

  function discardGuesses(sequence: Sequence): void {
    if (sequence.guessed > 0) context.forget(sequence.id, sequence.tokens.length)
    sequence.guessed = 0
  }

  return {
    discardGuesses,
    /** Removes what a batch has read that was stopped; everything where a part cannot be removed. */
    discardUnread(sequence: Sequence): void {
      sequence.guessed = 0
      if (context.forget(sequence.id, sequence.tokens.length)) return
      context.forget(sequence.id, 0)
      sequence.tokens = []
    },
    async copy(from: Sequence, to: Sequence): Promise<void> {
      // When several beams have been read, the first one copies before the others have removed the guesses read with
      // them.
      discardGuesses(from)
      to.guessed = 0
      noted.from.add(from)
      noted.to.add(to)
      await context.copy(from.id, to.id)
      to.tokens = from.tokens.slice()
      to.key = from.key
    },
    /** A batch has been computed, and with it all noted copies were made. */
    copiesAreMade(): void {
      noted.from.clear()
      noted.to.clear()
    },
    /** Whether llama.cpp already has what the sequence is recorded to hold. */
    isThere: (sequence: Sequence) => !noted.to.has(sequence),
    /** Removes what follows the first `count` tokens. Returns how many are left: some models cannot remove a part. */
    cut(sequence: Sequence, count: number): number {
      if (sequence.tokens.length > count) {
        const left = context.forget(sequence.id, count) ? count : 0
        if (left !== count) context.forget(sequence.id, 0)
        sequence.tokens.length = left
      }
      return sequence.tokens.length
    },
    async restore(found: FoundPrompt | undefined, to: Sequence): Promise<void> {
      if (found === undefined) throw new Error('there is no kept prompt to restore')
      if (noted.from.has(to) || noted.to.has(to)) {
        // The prompt is read anew: reading writes after the noted copies, but restoring would write before them.
        context.forget(to.id, 0)
        to.tokens = []
      } else await cache.restore(found, to)
    },
    /** Called before a sequence is reused, of which the first `stays` tokens stay. */
    async keepWhatIsLost(sequence: Sequence, stays = 0): Promise<void> {
      if (!noted.to.has(sequence)) await cache.keep(sequence, stays, doOthersWrite())
    },
  }
}
