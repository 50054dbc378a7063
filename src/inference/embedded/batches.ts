import type { ActiveTenants } from './active-tenants.ts'
import { additionOrder, planBatch } from './batch-plan.ts'
import type { NativeContext } from './native.ts'
import { createPace } from './pace.ts'
import { type Answering, isWriting, leftToRead, nextToRead } from './request.ts'
import type { Sequence } from './sequences.ts'
import { createTenantShares } from './tenant-shares.ts'

/** A part of a batch: what one sequence reads in it. */
export interface Part {
  answering: Answering
  sequence: Sequence
  tokens: Uint32Array
  /** The rows of the logits that are wanted, the last one at the end. */
  rows: Uint32Array
  isPrompt: boolean
}

export interface BatchParts {
  context: NativeContext
  tenants: ActiveTenants
  /** Tokens that a batch may have. */
  batch: number
  /** Rows of logits that it may have. */
  mostRows: number
}

/** Of so many batches one reads of the prompt that has waited longest. */
const oldestEvery = 4

/** Which of the answers go on in the next batch and how far, by what the last ones took. */
export function createBatches({ context, tenants, batch, mostRows }: BatchParts) {
  const pace = createPace()
  // What background work writes has constraints mostly, and says nothing of how long callers take.
  const backgroundPace = createPace()
  const shares = createTenantShares()
  let turn = 0

  /** Writers that cost more together than one after the other take turns: first the tenants, then those of one tenant. */
  function writersOf(busy: readonly Answering[], of: ReadonlySet<string>, by = pace): readonly Answering[] {
    const own = of.size > 1 ? busy.filter(({ tenant }) => tenant === shares.next) : busy
    if (by.abreast(busy.length) > 1) return by.isWorthSharing(busy.length, own.length, of.size) ? own : busy
    return [own.reduce((longest, other) => (other.turn < longest.turn ? other : longest))]
  }

  /** Of each so many tokens may be read, and of all prompts together so many. */
  function batchOf(each: { answering: Answering; tokens: number }[], prompts: number): Part[] {
    turn++
    const inOrder = each.toSorted(
      (one, other) => (one.answering.sequence?.id ?? 0) - (other.answering.sequence?.id ?? 0),
    )
    const left = inOrder.map(({ answering: { request }, tokens }) => ({
      tokens,
      most: request.promptLogprobs === undefined ? batch : mostRows,
      arrival: request.since,
    }))
    const counts = planBatch(left, { batch, prompts, oldestFirst: turn % oldestEvery === 0 })
    context.begin(counts.reduce((sum, count) => sum + count, 0))
    const parts = inOrder.flatMap(({ answering, tokens: most }, index) => {
      const { sequence, request } = answering
      const count = counts[index] ?? 0
      if (count === 0 || sequence === undefined) return []
      answering.turn = turn
      request.queuedMs ??= performance.now() - request.since
      return [{ answering, sequence, tokens: nextToRead(answering, count), isLast: count === most }]
    })
    return additionOrder(parts).map(({ answering, sequence, tokens, isLast }) => {
      const { request } = answering
      const wanted =
        request.promptLogprobs !== undefined && !request.isRead
          ? Uint32Array.from(tokens.keys())
          : Uint32Array.of(...(isLast ? [tokens.length - 1] : []))
      const rows = context.add(sequence.id, sequence.tokens.length, tokens, wanted)
      return { answering, sequence, tokens, rows, isPrompt: !isWriting(answering) }
    })
  }

  return {
    /**
     * Never together with callers, whose batches are the same with and without it. Alone it is as short as beside them, for
     * one may come.
     */
    ofBackground(busy: readonly Answering[]): Part[] {
      const answerings = busy.every(isWriting) ? writersOf(busy, new Set(), backgroundPace) : busy
      return batchOf(
        answerings.map((answering) => ({ answering, tokens: leftToRead(answering) })),
        pace.promptTokens(1, 1, true),
      )
    },
    ofCallers(busy: readonly Answering[]): Part[] {
      const meeting = new Set(busy.map(({ tenant }) => tenant))
      shares.meet(meeting)
      const answerings = busy.every(isWriting) ? writersOf(busy, meeting) : busy
      const isShared = meeting.size > 1
      // A prompt holds up what others write: it waits while its tenant is ahead.
      const waits = (one: Answering) =>
        isShared && !isWriting(one) && shares.isAhead(one.tenant, pace.aheadMs)
      const areTenantsActive = answerings.some(({ tenant }) => tenants.hasOthers(tenant))
      const writers = answerings.filter(isWriting).length
      return batchOf(
        answerings.map((answering) => ({ answering, tokens: waits(answering) ? 0 : leftToRead(answering) })),
        pace.promptTokens(writers, answerings.length - writers, isShared || areTenantsActive),
      )
    },
    /** The native library took so long. */
    decoded(parts: readonly Part[], ms: number): void {
      const prompts = parts.filter(({ isPrompt }) => isPrompt)
      const read = prompts.reduce((sum, { tokens }) => sum + tokens.length, 0)
      pace.read(read, parts.length - prompts.length, ms)
    },
    /** A batch took so long, with the drawing. */
    took(parts: readonly Part[], ms: number, isBackground: boolean): void {
      if (parts.every(({ isPrompt }) => !isPrompt)) {
        const by = isBackground ? backgroundPace : pace
        by.wrote(parts.length, ms)
      }
      if (isBackground) return
      const tokens = new Map<string, number>()
      for (const part of parts) {
        const { tenant } = part.answering
        tokens.set(tenant, (tokens.get(tenant) ?? 0) + part.tokens.length)
      }
      shares.pay(tokens, ms)
    },
  }
}
