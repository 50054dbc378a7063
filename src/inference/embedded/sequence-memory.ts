import type { createKeptPrompts, FoundPrompt } from './kept/prompts.ts'
import type { NativeContext } from './native.ts'
import type { Sequence } from './sequences.ts'

interface MemoryParts {
  context: Pick<NativeContext, 'copy' | 'forget'>
  kept: Pick<ReturnType<typeof createKeptPrompts>, 'keep' | 'restore'>
  /** Whether callers write, who wait meanwhile. */
  doOthersWrite(): boolean
}

export type SequenceMemory = ReturnType<typeof createSequenceMemory>

/** What a sequence is known to hold, and what llama.cpp has in its memory, change together: here, and between two batches. */
export function createSequenceMemory({ context, kept, doOthersWrite }: MemoryParts) {
  /**
   * llama.cpp notes a copy, and makes it at the beginning of the next batch (`llama_kv_cache::seq_cp`, `update`). Until then what
   * is copied must stay where it is, and where it goes there is nothing yet that could be kept.
   */
  const noted = { from: new Set<Sequence>(), to: new Set<Sequence>() }

  function forgetGuesses(sequence: Sequence): void {
    if (sequence.guessed > 0) context.forget(sequence.id, sequence.tokens.length)
    sequence.guessed = 0
  }

  return {
    forgetGuesses,
    async copy(from: Sequence, to: Sequence): Promise<void> {
      // The first of several beams that have been read copies before the others have forgotten what was read beside them.
      forgetGuesses(from)
      to.guessed = 0
      noted.from.add(from)
      noted.to.add(to)
      await context.copy(from.id, to.id)
      to.tokens = from.tokens.slice()
      to.salt = from.salt
    },
    /** A batch has been computed, and what was to be copied before it. */
    copiesAreMade(): void {
      noted.from.clear()
      noted.to.clear()
    },
    /** Whether what it is known to hold is there already. */
    isThere: (sequence: Sequence) => !noted.to.has(sequence),
    /** Forgets what comes after the first so many tokens; answers how many are left, for some models cannot forget a part. */
    cut(sequence: Sequence, count: number): number {
      if (sequence.tokens.length > count) {
        const left = context.forget(sequence.id, count) ? count : 0
        if (left !== count) context.forget(sequence.id, 0)
        sequence.tokens.length = left
      }
      return sequence.tokens.length
    },
    /** Forgets what comes after the first so many tokens, where the model can forget a part; answers how many are left. */
    shorten(sequence: Sequence, count: number): number {
      if (sequence.tokens.length > count && context.forget(sequence.id, count)) sequence.tokens.length = count
      return sequence.tokens.length
    },
    async restore(found: FoundPrompt | undefined, to: Sequence): Promise<void> {
      if (found === undefined) throw new Error('nothing was found to restore')
      if (noted.from.has(to) || noted.to.has(to)) {
        // It is read anew: that writes behind the copies, where this would write before them.
        context.forget(to.id, 0)
        to.tokens = []
      } else await kept.restore(found, to)
    },
    /** Before a sequence is used for something else, of which so many tokens stay. */
    async keepWhatIsLost(sequence: Sequence, stays = 0): Promise<void> {
      if (!noted.to.has(sequence)) await kept.keep(sequence, stays, doOthersWrite())
    },
  }
}
