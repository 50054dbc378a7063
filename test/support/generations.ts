import type { Ending, Generation, Sampling } from '../../packages/engine/index.ts'

export interface GenerationParts extends Omit<Partial<Generation>, 'sampling' | 'ending' | 'text'> {
  sampling?: Partial<Sampling>
  ending?: Partial<Ending>
  text?: Partial<Generation['text']>
}

/** Draws from the model's own distribution. */
export const plainSampling: Sampling = {
  temperature: 1,
  topP: 1,
  topK: 0,
  minP: 0,
  frequencyPenalty: 0,
  presencePenalty: 0,
  repetitionPenalty: 1,
  bias: [],
  badWords: [],
}

/** A generation that draws from the model's own distribution and ends where the model ends, except for what is given. */
export function generationOf({ sampling, ending, text, ...parts }: GenerationParts = {}): Generation {
  return {
    prompt: { tokens: [0] },
    choices: 1,
    priority: 0,
    ...parts,
    sampling: { ...plainSampling, ...sampling },
    ending: { minTokens: 0, stop: [], stopTokens: [], ignoreEos: false, includeStop: false, ...ending },
    text: { skipSpecial: true, spaceSpecial: true, ...text },
  }
}
