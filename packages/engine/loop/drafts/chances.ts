import type { Spacing } from '../../../constraints/index.ts'

/** How often guesses were right. An answer begins with the average of all earlier answers. */
export interface GuessChances {
  /** After a match of 2, of up to 4, of up to 8 and of more tokens. */
  copied: number[]
  /** The same for texts that the request predicts. */
  predicted: number[]
  /** For texts forced by a constraint, without white space and with some. */
  forced: Record<Spacing, number>
}

export const initialChances = (): GuessChances => ({
  copied: [0.3, 0.5, 0.7, 0.9],
  predicted: [0.6, 0.7, 0.8, 0.9],
  forced: { dense: 0.8, spaced: 0.8 },
})

/** The weight of one token in the average of an answer … */
export const weightOfAnswer = 1 / 8
/** … and in that of all answers. */
export const weightOfAll = 1 / 100

export function kindOfMatch(matched: number): number {
  return matched > 8 ? 3 : matched > 4 ? 2 : matched > 2 ? 1 : 0
}

export function movingAverage(chance = 0.5, wasRight = false, by = weightOfAnswer): number {
  return chance + by * (Number(wasRight) - chance)
}
