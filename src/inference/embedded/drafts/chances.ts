import type { Spacing } from '../../constraints/following-constraints.ts'

/** How often guesses were right: an answer begins with what all before it have shown. */
export interface GuessChances {
  /** Behind a match of 2, of up to 4, of up to 8 and of more tokens. */
  copied: number[]
  /** The same, of texts that the request foretells. */
  predicted: number[]
  /** Of texts that a constraint leaves, without white space and with some. */
  forced: Record<Spacing, number>
}

export const firstChances = (): GuessChances => ({
  copied: [0.3, 0.5, 0.7, 0.9],
  predicted: [0.6, 0.7, 0.8, 0.9],
  forced: { dense: 0.8, spaced: 0.8 },
})

/** The weight of one token, of those of an answer … */
export const weight = 1 / 8
/** … and of those of all. */
export const weightOfAll = 1 / 100

export function kindOfMatch(matched: number): number {
  return matched > 8 ? 3 : matched > 4 ? 2 : matched > 2 ? 1 : 0
}

export function moved(chance = 0.5, wasRight = false, by = weight): number {
  return chance + by * (Number(wasRight) - chance)
}
