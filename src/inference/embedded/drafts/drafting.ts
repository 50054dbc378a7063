import { createCopied } from './copied.ts'

/** What may come next in an answer. */
export interface Draft {
  tokens: readonly number[]
  /** How likely each of them is right where those before it are. */
  chance: number
}

export type Drafting = ReturnType<typeof createDrafting>

export interface DraftedAnswer {
  tokens: readonly number[]
  /** What its constraint leaves as the only text, as tokens; they may be others. */
  forced(most: number): readonly number[]
}

const none: Draft = { tokens: [], chance: 0 }

/** How often guesses were right: an answer begins with what all before it have shown. */
export interface GuessChances {
  /** Behind a match of 2, of up to 4, of up to 8 and of more tokens. */
  copied: number[]
  forced: number
}

export const firstChances = (): GuessChances => ({ copied: [0.3, 0.5, 0.7, 0.9], forced: 0.8 })

/** The weight of one token, of those of an answer … */
const weight = 1 / 8
/** … and of those of all. */
const weightOfAll = 1 / 100

/**
 * Guesses how an answer goes on, from its own text and from its constraint. How often that is right is measured, also where
 * no guess is used: what has been foreseen is compared with what was drawn.
 */
export function createDrafting(prompt: readonly number[], answer: DraftedAnswer, ofAll: GuessChances) {
  let copied: ReturnType<typeof createCopied> | undefined
  const own: GuessChances = { copied: ofAll.copied.slice(), forced: ofAll.forced }
  let foreseen: readonly number[] = []
  let foreseenAt = 0

  function heard(matched: number, wasRight: boolean): void {
    const kind = kindOf(matched)
    own.copied[kind] = moved(own.copied[kind], wasRight, weight)
    ofAll.copied[kind] = moved(ofAll.copied[kind], wasRight, weightOfAll)
  }

  function compareForced(): void {
    const since = Math.min(foreseen.length, answer.tokens.length - foreseenAt)
    for (let at = 0; at < since; at++) {
      const wasRight = foreseen[at] === answer.tokens[foreseenAt + at]
      own.forced = moved(own.forced, wasRight, weight)
      ofAll.forced = moved(ofAll.forced, wasRight, weightOfAll)
      if (!wasRight) break
    }
  }

  return {
    /** What may come next, at most so many tokens. */
    next(most: number): Draft {
      copied ??= createCopied(prompt, answer.tokens)
      copied.follow(heard)
      compareForced()
      foreseen = answer.forced(most)
      foreseenAt = answer.tokens.length
      const { matched } = copied
      if (foreseen.length === 0 && matched === 0) return none
      const tokens = copied.ahead(most)
      const chance = own.copied[kindOf(matched)] ?? 0
      if (foreseen.length === 0) return { tokens, chance }
      // What was copied goes on where the constraint leaves more than one way.
      const isLonger = tokens.length > foreseen.length && foreseen.every((token, at) => token === tokens[at])
      return { tokens: isLonger ? tokens : foreseen, chance: own.forced }
    },
  }
}

function kindOf(matched: number): number {
  return matched > 8 ? 3 : matched > 4 ? 2 : matched > 2 ? 1 : 0
}

function moved(chance = 0.5, wasRight = false, by = weight): number {
  return chance + by * (Number(wasRight) - chance)
}
