import type { Delta } from './deltas.ts'
import type { Generation } from './generation.ts'

/** Counts tokens as deltas pass by. */
export interface Tally {
  add(delta: Delta): void
  /** Of one choice so far, with its prompt. */
  ofChoice(choice: number): Usage
  total(): Usage
}

type Usage = ReturnType<typeof usageOf>

export function createTally({
  prompts,
  choices,
  told,
}: Pick<Generation, 'prompts' | 'choices' | 'told'>): Tally {
  const counts = new Array<number>(prompts.length * choices).fill(0)
  const thoughts = new Array<number>(prompts.length * choices).fill(0)
  let cachedTokens = 0
  return {
    add(delta) {
      if (delta.kind === 'prompt') cachedTokens += delta.cachedTokens
      else {
        const { choice, tokens, hidden, thought } = delta
        counts[choice] = (counts[choice] ?? 0) + tokens.length + hidden
        thoughts[choice] = (thoughts[choice] ?? 0) + thought
      }
    },
    ofChoice: (choice) =>
      usageOf(
        prompts[Math.floor(choice / choices)]?.length ?? 0,
        counts[choice] ?? 0,
        cachedTokens,
        thoughts[choice],
      ),
    total() {
      if (told !== undefined) {
        const { prompt, completion, cached, reasoning } = told()
        return usageOf(prompt, completion, cached, reasoning)
      }
      const promptTokens = prompts.reduce((sum, { length }) => sum + length, 0)
      return usageOf(
        promptTokens,
        counts.reduce((sum, count) => sum + count, 0),
        cachedTokens,
        thoughts.reduce((sum, count) => sum + count, 0),
      )
    },
  }
}

/** Tokens that were not read again, because an earlier request had the same beginning, are in `cached_tokens`. */
function usageOf(promptTokens: number, completionTokens: number, cachedTokens: number, thoughtTokens = 0) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
    ...(thoughtTokens > 0 && { completion_tokens_details: { reasoning_tokens: thoughtTokens } }),
  }
}
