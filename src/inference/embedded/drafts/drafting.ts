import { type GuessChances, kindOfMatch, moved, weight, weightOfAll } from './chances.ts'
import { createCopied } from './copied.ts'
import type { Predicted } from './predicted.ts'

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
  /** What the request says that it will be like. It is followed by whoever writes the answer. */
  predicted?: Predicted | undefined
}

const none: Draft = { tokens: [], chance: 0 }

/**
 * Guesses how an answer goes on, from its own text, from what its request foretells and from its constraint. How often that is right is measured, also where
 * no guess is used: what has been foreseen is compared with what was drawn.
 */
export function createDrafting(prompt: readonly number[], answer: DraftedAnswer, ofAll: GuessChances) {
  let copied: ReturnType<typeof createCopied> | undefined
  const own = { copied: ofAll.copied.slice(), forced: ofAll.forced }
  let foreseen: readonly number[] = []
  let foreseenAt = 0

  function heard(matched: number, wasRight: boolean): void {
    const kind = kindOfMatch(matched)
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
      const { predicted } = answer
      const ofCopied = copied.matched === 0 ? 0 : (own.copied[kindOfMatch(copied.matched)] ?? 0)
      const ofPredicted = predicted?.chance ?? 0
      if (foreseen.length === 0 && ofCopied === 0 && ofPredicted === 0) return none
      const tokens = predicted && ofPredicted >= ofCopied ? predicted.ahead(most) : copied.ahead(most)
      if (foreseen.length === 0) return { tokens, chance: Math.max(ofCopied, ofPredicted) }
      // What was copied or foretold goes on where the constraint leaves more than one way.
      const isLonger = tokens.length > foreseen.length && foreseen.every((token, at) => token === tokens[at])
      return { tokens: isLonger ? tokens : foreseen, chance: own.forced }
    },
  }
}
