import type { Spacing } from '../../../constraints/index.ts'
import { type GuessChances, kindOfMatch, movingAverage, weightOfAll, weightOfAnswer } from './chances.ts'
import type { Predicted } from './predicted.ts'
import { createPromptLookup } from './prompt-lookup.ts'

/** Tokens that may come next in an answer. */
export interface Draft {
  tokens: readonly number[]
  /** How many of them come next whatever the model says. */
  sure: number
  /** How likely each of the others is right, given that those before it are. */
  chance: number
}

export type Drafting = ReturnType<typeof createDrafting>

interface DraftedAnswer {
  tokens: readonly number[]
  /** What comes next whatever the model says. */
  sure(): readonly number[]
  /** The only text that its constraint allows but for white space, as tokens; the model may split it differently. */
  forced(space: Spacing, most: number): readonly number[]
  /** The text that the request predicts. The writer of the answer keeps it up to date. */
  predicted?: Predicted | undefined
}

const nothing: readonly number[] = []

/**
 * Guesses how an answer continues, from its own text, from the text that its request predicts and from its constraint.
 * How often guesses are right is measured even where none is used, by comparing them with what was drawn.
 */
export function createDrafting(prompt: readonly number[], answer: DraftedAnswer, ofAll: GuessChances) {
  let copied: ReturnType<typeof createPromptLookup> | undefined
  const own = { copied: ofAll.copied.slice(), forced: { ...ofAll.forced } }
  let foreseen = { dense: nothing, spaced: nothing }
  let foreseenAt = 0

  function recordMatch(matched: number, wasRight: boolean): void {
    const kind = kindOfMatch(matched)
    own.copied[kind] = movingAverage(own.copied[kind], wasRight, weightOfAnswer)
    ofAll.copied[kind] = movingAverage(ofAll.copied[kind], wasRight, weightOfAll)
  }

  function compareForced(): void {
    for (const space of ['dense', 'spaced'] as const) {
      const since = Math.min(foreseen[space].length, answer.tokens.length - foreseenAt)
      for (let at = 0; at < since; at++) {
        const wasRight = foreseen[space][at] === answer.tokens[foreseenAt + at]
        own.forced[space] = movingAverage(own.forced[space], wasRight, weightOfAnswer)
        ofAll.forced[space] = movingAverage(ofAll.forced[space], wasRight, weightOfAll)
        if (!wasRight) break
      }
    }
  }

  return {
    /** What may come next: at most `most` guesses, after at most `maxSure` sure tokens. */
    next(most: number, maxSure: number): Draft {
      copied ??= createPromptLookup(prompt, answer.tokens)
      copied.follow(recordMatch)
      compareForced()
      const sure = answer.sure()
      if (sure.length > maxSure) return { tokens: sure.slice(0, maxSure), sure: maxSure, chance: 0 }
      const all = sure.length + most
      foreseen = {
        dense: behind(sure, answer.forced('dense', all)),
        spaced: behind(sure, answer.forced('spaced', all)),
      }
      const space = own.forced.spaced > own.forced.dense ? 'spaced' : 'dense'
      const forced = foreseen[space]
      foreseenAt = answer.tokens.length + sure.length
      const { predicted } = answer
      const ofCopied = copied.matched === 0 ? 0 : (own.copied[kindOfMatch(copied.matched)] ?? 0)
      const ofPredicted = predicted?.chance ?? 0
      const usesPredicted = predicted && ofPredicted >= ofCopied
      const tokens = behind(sure, usesPredicted ? predicted.ahead(all) : copied.ahead(all))
      // What was copied or predicted continues where the constraint allows more than one way.
      const isLonger = tokens.length > forced.length && behind(forced, tokens).length > 0
      const guess = forced.length === 0 || isLonger ? tokens : forced
      const chance = forced.length > 0 ? own.forced[space] : Math.max(ofCopied, ofPredicted)
      return {
        tokens: sure.length === 0 ? guess : [...sure, ...guess],
        sure: sure.length,
        chance: guess.length === 0 ? 0 : chance,
      }
    },
  }
}

/** What follows these tokens in a text that begins with them; empty if it does not. */
function behind(first: readonly number[], text: readonly number[]): readonly number[] {
  if (first.length === 0) return text
  return first.every((token, at) => token === text[at]) ? text.slice(first.length) : nothing
}
