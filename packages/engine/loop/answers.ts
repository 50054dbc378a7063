import { LRUCache } from 'lru-cache'
import type { Spacing } from '../../constraints/index.ts'
import { type Continuations, createBeams } from '../answer/beam.ts'
import {
  type AcceptedToken,
  type AnswerPlan,
  type Choice,
  createChoice,
  type DrawnToken,
} from '../answer/choice.ts'
import type { NativeModel } from '../native/native.ts'
import { promptGroupOf } from '../prompt-group.ts'
import { initialChances } from './drafts/chances.ts'
import { createDrafting, type Drafting } from './drafts/drafting.ts'
import { createPredicted, type Predicted } from './drafts/predicted.ts'
import type { OpenRequests } from './open-requests.ts'
import type { Outbox } from './outbox.ts'
import type { AcceptToken, Answering, Request } from './request.ts'
import type { SequenceMemory } from './sequence-memory.ts'

interface BeamParts {
  open: OpenRequests
  memory: Pick<SequenceMemory, 'copy'>
  outbox: Outbox
  finish(answering: Answering): void
}

/**
 * All beams read one token in each batch. When the continuations of the last one are known, some beams continue and the
 * others become copies.
 */
function beamSearch(
  { open, memory, outbox, finish }: BeamParts,
  request: Request,
  plan: AnswerPlan,
): (slot: number) => Answering['ask'] {
  const beams = createBeams(plan)
  let order = [0]
  const found = new Map<number, Continuations>()

  async function advance(): Promise<void> {
    const moves = beams.advance(order.flatMap((slot) => found.get(slot) ?? []))
    found.clear()
    order = moves.map(({ slot }) => slot)
    const all = Array.from(request.unfinished)
    for (const beam of all) beam.isIdle = true
    for (const { slot, from, token } of moves) {
      const beam = all[slot]
      const source = all[from]?.sequence
      if (beam?.sequence === undefined || source === undefined) throw new Error(`there is no beam ${slot}`)
      if (slot !== from) await memory.copy(source, beam.sequence)
      beam.isIdle = false
      beam.drawn = token
    }
    if (moves.length > 0) return
    outbox.hurry()
    for (const event of beams.events()) outbox.put(request.id, event)
    for (const beam of all) finish(beam)
  }

  return (slot) => async (read) => {
    const continuations = beams.continuations(slot, await read())
    return async () => {
      found.set(slot, continuations)
      if (found.size === order.length && !open.isGone({ request })) await advance()
    }
  }
}

interface AnswersParts extends BeamParts {
  model: Pick<NativeModel, 'tokenize'>
  isDrafting(): boolean
}

/** The answers of a request in the form that runs on sequences: independent choices, or the beams of one search. */
export function createAnswers({ model, isDrafting, ...services }: AnswersParts) {
  const { open, outbox, finish } = services
  const guessChances = initialChances()
  /** Tokens of the texts that constraints leave as the only possibility, for each group of users. */
  const spelled = new LRUCache<string, number[], string>({
    max: 1024,
    memoMethod: (_key, _stale, { context: text }) => model.tokenize(text, { special: false, add: false }),
  })

  function draftingOf({ prompt, generation }: Request, choice: Choice, predicted?: Predicted): Drafting {
    const forced = (space: Spacing, most: number) => {
      const text = choice.ahead(space)
      if (text === '') return []
      return spelled.memo(`${promptGroupOf(generation)}\n${text}`, { context: text }).slice(0, most)
    }
    const { tokens, sure } = choice
    return createDrafting(prompt, { tokens, sure, forced, predicted }, guessChances)
  }

  /** A choice that draws its own tokens. */
  function written(
    request: Request,
    choice: Choice,
    prediction: readonly number[] | undefined,
    own: () => Answering,
  ): Pick<Answering, 'ask' | 'acceptSure' | 'drafting'> {
    const predicted = prediction && createPredicted(prediction, choice.tokens, guessChances.predicted)
    let isOver = false
    const accept = (drawn: DrawnToken): AcceptedToken => {
      const accepted = choice.accept(drawn)
      isOver = accepted.finished !== undefined
      predicted?.follow()
      return accepted
    }
    const say = ({ tokens, finished }: AcceptedToken): void => {
      const answering = own()
      if (open.isGone(answering)) return
      outbox.put(request.id, tokens)
      answering.drawn = tokens.tokens[0]
      if (finished === undefined) return
      if (!answering.isBackground) outbox.hurry()
      outbox.put(request.id, predicted ? { ...finished, prediction: predicted.counts } : finished)
      finish(answering)
    }
    return {
      async ask(read) {
        if (isOver) return () => {}
        const drawn = await choice.next(read)
        return () => say(accept(drawn))
      },
      acceptSure(most) {
        const taken: AcceptToken[] = []
        while (!isOver && taken.length < most) {
          const [token] = choice.sure()
          if (token === undefined) break
          const accepted = accept({ token })
          taken.push(() => say(accepted))
        }
        return taken
      },
      drafting: isDrafting() ? draftingOf(request, choice, predicted) : undefined,
    }
  }

  return (request: Request, plan: AnswerPlan, prediction: readonly number[] | undefined): Answering[] => {
    const { generation, priority } = request
    const askBeam = generation.beam === undefined ? undefined : beamSearch(services, request, plan)
    return Array.from({ length: generation.choices }, (_, index) => {
      const answering: Answering = {
        request,
        isBackground: generation.lane === 'background',
        priority,
        tenant: generation.tenant ?? '',
        sequence: undefined,
        cached: 0,
        drawn: undefined,
        again: [],
        isIdle: false,
        ...(askBeam
          ? { ask: askBeam(index), acceptSure: () => [], drafting: undefined }
          : written(request, createChoice(plan, index), prediction, () => answering)),
      }
      return answering
    })
  }
}
