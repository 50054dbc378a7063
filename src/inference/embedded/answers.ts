import { LRUCache } from 'lru-cache'
import { type AnswerPlan, type Choice, createChoice, type Drawn } from '../choice.ts'
import { type BeamParts, beamSearch } from './beam-answers.ts'
import { firstChances } from './drafts/chances.ts'
import { createDrafting, type Drafting } from './drafts/drafting.ts'
import type { HowToDraft } from './drafts/how-to-draft.ts'
import { createPredicted, type Predicted } from './drafts/predicted.ts'
import type { NativeModel } from './native.ts'
import type { Answering, Request } from './request.ts'

export interface AnswersParts extends BeamParts {
  model: Pick<NativeModel, 'tokenize'>
  drafts: HowToDraft
}

/** The answers of a request, as what runs on sequences: choices that draw for themselves, or the beams of one search. */
export function createAnswers({ model, drafts, ...parts }: AnswersParts) {
  const { open, outbox, finish } = parts
  const guessChances = firstChances()
  /** The tokens of texts that constraints leave as the only ones. */
  const spelled = new LRUCache<string, number[]>({
    max: 1024,
    memoMethod: (text) => model.tokenize(text, { special: false, add: false }),
  })

  function draftingOf(prompt: readonly number[], choice: Choice, predicted?: Predicted): Drafting {
    const forced = (most: number) => {
      const text = choice.ahead()
      return text === '' ? [] : spelled.memo(text).slice(0, most)
    }
    return createDrafting(prompt, { tokens: choice.tokens, forced, predicted }, guessChances)
  }

  function answer(choice: Choice, predicted: Predicted | undefined, own: () => Answering): Answering['ask'] {
    const takeUp = (drawn: Drawn): void => {
      const answering = own()
      const { request } = answering
      if (open.isGone(answering)) return
      const { tokens, finished } = choice.accept(drawn)
      predicted?.follow()
      outbox.put(request.id, tokens)
      answering.drawn = drawn.token
      if (finished === undefined) return
      if (!answering.isBackground) outbox.hurry()
      outbox.put(request.id, predicted ? { ...finished, prediction: predicted.counts } : finished)
      finish(answering)
    }
    return async (logits) => {
      const drawn = await choice.next(logits)
      return () => takeUp(drawn)
    }
  }

  return (request: Request, plan: AnswerPlan, prediction: readonly number[] | undefined): Answering[] => {
    const { generation, prompt, priority } = request
    const askBeam = generation.beam === undefined ? undefined : beamSearch(parts, request, plan)
    return Array.from({ length: generation.choices }, (_, index) => {
      const choice = askBeam ? undefined : createChoice(plan, index)
      const predicted =
        choice && prediction && createPredicted(prediction, choice.tokens, guessChances.predicted)
      const answering: Answering = {
        request,
        isBackground: generation.lane === 'background',
        priority,
        tenant: generation.tenant ?? '',
        sequence: undefined,
        cached: 0,
        drawn: undefined,
        again: [],
        drafting: choice && drafts.areWanted ? draftingOf(prompt, choice, predicted) : undefined,
        isIdle: false,
        turn: 0,
        ask: askBeam?.(index) ?? (choice ? answer(choice, predicted, () => answering) : async () => () => {}),
      }
      return answering
    })
  }
}
