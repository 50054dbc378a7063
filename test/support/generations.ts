import { type Ending, type Generation, plainSampling, type Sampling } from '../../packages/engine/index.ts'

export interface GenerationParts extends Omit<Partial<Generation>, 'sampling' | 'ending' | 'text'> {
  sampling?: Partial<Sampling>
  ending?: Partial<Ending>
  text?: Partial<Generation['text']>
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
