import { type Continuations, createBeams } from '../answer/beam.ts'
import type { AnswerPlan } from '../answer/choice.ts'
import type { OpenRequests } from './open-requests.ts'
import type { Outbox } from './outbox.ts'
import type { Answering, Request } from './request.ts'
import type { SequenceMemory } from './sequence-memory.ts'

export interface BeamParts {
  open: OpenRequests
  memory: Pick<SequenceMemory, 'copy'>
  outbox: Outbox
  finish(answering: Answering): void
}

/**
 * All beams read one token in each batch. When the continuations of the last one are known, some beams continue and the
 * others become copies.
 */
export function beamSearch(
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

  return (slot) => async (logits) => {
    const continuations = await beams.continuations(slot, logits)
    return async () => {
      found.set(slot, continuations)
      if (found.size === order.length && !open.isGone({ request })) await advance()
    }
  }
}
