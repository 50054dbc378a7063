import type { createKeptPrompts, FoundPrompt } from './kept/prompts.ts'
import type { NativeContext } from './native.ts'
import type { Sequence } from './sequences.ts'

export interface MemoryParts {
  context: Pick<NativeContext, 'copy' | 'forget'>
  kept: ReturnType<typeof createKeptPrompts>
  /** Whether callers write, who wait meanwhile. */
  doOthersWrite(): boolean
}

export type SequenceMemory = ReturnType<typeof createSequenceMemory>

/** What a sequence is known to hold, and what llama.cpp has in its memory, change together: here, and between two batches. */
export function createSequenceMemory({ context, kept, doOthersWrite }: MemoryParts) {
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
      await context.copy(from.id, to.id)
      to.tokens = from.tokens.slice()
      to.salt = from.salt
    },
    /** Forgets what comes after the first so many tokens; answers how many are left, for some models cannot forget a part. */
    cut(sequence: Sequence, count: number): number {
      if (sequence.tokens.length > count) {
        const left = context.forget(sequence.id, count) ? count : 0
        if (left !== count) context.forget(sequence.id, 0)
        sequence.tokens.length = left
      }
      return sequence.tokens.length
    },
    async restore(found: FoundPrompt | undefined, to: Sequence): Promise<void> {
      if (found === undefined) throw new Error('nothing was found to restore')
      await kept.restore(found, to)
    },
    /** Before a sequence is used for something else, of which so many tokens stay. */
    async keepWhatIsLost(sequence: Sequence, stays = 0): Promise<void> {
      await kept.keep(sequence, stays, doOthersWrite())
    },
  }
}
