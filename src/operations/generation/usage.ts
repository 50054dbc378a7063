import type { PredictionCounts } from '../../../packages/engine/index.ts'
import type { Delta } from './deltas.ts'
import type { Generation } from './generation.ts'

/** Counts tokens as deltas pass. */
export interface Tally {
  add(delta: Delta): void
  /** Of one choice so far, with its prompt. */
  ofChoice(choice: number): Usage
  total(): Usage
}

type Usage = ReturnType<typeof usageOf>

interface Counted {
  prompt: number
  completion: number
  cached: number
  reasoning: number
  prediction?: PredictionCounts | undefined
}

export function createTally({
  prompts,
  choices,
  told,
}: Pick<Generation, 'prompts' | 'choices' | 'told'>): Tally {
  const counts = new Array<number>(prompts.length * choices).fill(0)
  const thoughts = new Array<number>(prompts.length * choices).fill(0)
  const predictions = new Map<number, PredictionCounts>()
  let cached = 0
  return {
    add(delta) {
      if (delta.kind === 'prompt') cached += delta.cachedTokens
      else {
        const { choice, tokens, hidden, thought, prediction } = delta
        counts[choice] = (counts[choice] ?? 0) + tokens.length + hidden
        thoughts[choice] = (thoughts[choice] ?? 0) + thought
        if (prediction) predictions.set(choice, prediction)
      }
    },
    ofChoice: (choice) =>
      usageOf({
        prompt: prompts[Math.floor(choice / choices)]?.length ?? 0,
        completion: counts[choice] ?? 0,
        cached,
        reasoning: thoughts[choice] ?? 0,
        prediction: predictions.get(choice),
      }),
    total() {
      if (told !== undefined) return usageOf(told())
      return usageOf({
        prompt: prompts.reduce((sum, { length }) => sum + length, 0),
        completion: counts.reduce((sum, count) => sum + count, 0),
        cached,
        reasoning: thoughts.reduce((sum, count) => sum + count, 0),
        prediction: predictions.size === 0 ? undefined : together(predictions.values()),
      })
    },
  }
}

function together(counts: Iterable<PredictionCounts>): PredictionCounts {
  const sum = { accepted: 0, rejected: 0 }
  for (const { accepted, rejected } of counts) {
    sum.accepted += accepted
    sum.rejected += rejected
  }
  return sum
}

/** `cached_tokens` are those that an earlier request with the same beginning had computed. */
function usageOf({ prompt, completion, cached, reasoning, prediction }: Counted) {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
    ...((reasoning > 0 || prediction) && {
      completion_tokens_details: {
        ...(reasoning > 0 && { reasoning_tokens: reasoning }),
        ...(prediction && {
          accepted_prediction_tokens: prediction.accepted,
          rejected_prediction_tokens: prediction.rejected,
        }),
      },
    }),
  }
}
