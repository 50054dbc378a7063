import { type Answering, isRecomputing } from '../request.ts'
import { createDraftLength, maxDraft } from './draft-length.ts'
import type { Draft } from './drafting.ts'

/** What a decoding sequence reads in a batch after the token that was drawn last. */
export interface BatchDraft {
  /** The tokens that are checked. */
  tokens: readonly number[]
  /** How many of them are accepted without logits. */
  sure: number
  /** The rows that it reads: those of its tokens, and others up to the length of the other drafts. */
  rows: number
}

interface DraftBounds {
  /** Most tokens in a batch. */
  batch: number
  /** Most rows of logits in a batch. */
  maxRows: number
  /** Most tokens in a sequence. */
  context: number
}

/** Drafted tokens of all decoding sequences together. More rows cost as much time as they could save. */
const maxDrafted = 48

const noDraft: Draft = { tokens: [], sure: 0, chance: 0 }

const tokensIn = ({ sequence }: Answering) => sequence?.tokens.length ?? 0

/** Chooses what the decoding sequences of a batch read ahead. `rowMs` is the time of one row of a prompt, if known. */
export function createBatchDrafts({ batch, maxRows, context }: DraftBounds, rowMs: () => number | undefined) {
  const draftLength = createDraftLength(rowMs)

  /** How many tokens each may guess: equally many, and none alongside prompts. */
  function maxGuesses(decoding: readonly Answering[], isAlone: boolean): number {
    if (!isAlone) return 0
    const share = Math.floor(Math.min(maxDrafted, batch, maxRows) / decoding.length) - 1
    return Math.max(0, Math.min(maxDraft, share, ...decoding.map((item) => context - tokensIn(item) - 1)))
  }

  return {
    /**
     * Drafts for the decoding sequences of a batch. Guesses of all are equally many. Sure tokens are read like a
     * prompt: all of them, up to `prompts` in total. llama.cpp computes a sequence whose number of rows differs apart
     * from the others, which costs about as much as a batch for it alone. So sure tokens are read ahead if those of all
     * are at least as many as the sequences that decode.
     */
    draftsOf(decoding: readonly Answering[], isAlone: boolean, prompts: number): Map<Answering, BatchDraft> {
      const guesses = maxGuesses(decoding, isAlone)
      const share = Math.floor(Math.min(batch, prompts) / decoding.length) - 1
      const drafts = decoding.map((answering) => {
        const wantsLogits = answering.request.generation.logprobs !== undefined
        const maxSure = wantsLogits
          ? guesses
          : Math.max(0, Math.min(share, context - tokensIn(answering) - 1))
        const draft = isRecomputing(answering)
          ? noDraft
          : (answering.drafting?.next(guesses, maxSure) ?? noDraft)
        return { answering, wantsLogits, maxSure, ...draft }
      })
      const sureOfAll = drafts.reduce((sum, draft) => sum + draft.sure, 0)
      const length = draftLength.choose(
        drafts.map(({ chance }) => chance),
        guesses,
      )
      return new Map(
        drafts.map(({ answering, tokens, sure, wantsLogits, maxSure }) => {
          const isAhead = sure > 0 && sureOfAll >= decoding.length
          // After sure tokens no row fills up: it would cost more there.
          const rows = isAhead ? Math.min(maxSure, tokens.length, sure + length) : length
          const checked = tokens.slice(0, rows)
          return [
            answering,
            { tokens: checked, sure: isAhead && !wantsLogits ? Math.min(sure, rows) : 0, rows },
          ]
        }),
      )
    },
    /** A batch of so many decoding sequences with so many rows each took the native library `ms`. */
    decoded: draftLength.decoded,
    /** Drawing so many tokens took `ms`. */
    drew: draftLength.drew,
  }
}
