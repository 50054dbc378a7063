import { additionOrder, planBatch } from './batch-plan.ts'
import { createDraftLength, longestDraft } from './drafts/draft-length.ts'
import type { Draft } from './drafts/drafting.ts'
import type { NativeContext } from './native.ts'
import { createPace } from './pace.ts'
import { type Answering, isDecoding, isRecomputing, leftToRead, nextToRead } from './request.ts'
import type { Sequence } from './sequences.ts'
import type { ActiveTenants } from './turns/active-tenants.ts'
import { createTenantShares } from './turns/tenant-shares.ts'

/** What one sequence reads in a batch. */
export interface Part {
  answering: Answering
  sequence: Sequence
  tokens: Uint32Array
  /** So many tokens at the end are guesses, … */
  guessed: number
  /** … and the first of these are sure: what precedes them needs no logits. */
  sure: number
  /** The rows whose logits are wanted: of the last token that is sure or not a guess, and of the guesses after it. */
  rows: Uint32Array
  isPrompt: boolean
  /** Tokens that were drawn after the batch. */
  drawn: number
}

interface BatchParts {
  context: Pick<NativeContext, 'begin' | 'add' | 'readsTiles'>
  tenants: ActiveTenants
  /** Most tokens in a batch. */
  batch: number
  /** Most rows of logits in a batch. */
  mostRows: number
  /** Most tokens in a sequence. */
  longest: number
  /** Whether tokens are guessed ahead. */
  isDrafting(): boolean
}

interface ChosenDraft extends Draft {
  /** How many of its tokens are read. */
  length: number
  /** The most that may be read. */
  bound: number
  /** How many of them are accepted without logits. */
  unasked: number
}

/** Drafted tokens of all decoding sequences together. More rows cost as much time as they could save. */
const maxDrafted = 48
const nothing: Draft = { tokens: [], sure: 0, chance: 0 }

/** One of so many batches reads from the prompt that has waited longest. */
const oldestEvery = 4

/** Decides which answers are in the next batch and how much each reads, from the times of the last ones. */
export function createBatches({ context, tenants, batch, mostRows, longest, isDrafting }: BatchParts) {
  const pace = createPace(context)
  const draftLength = createDraftLength(() => pace.readMs(1))
  const shares = createTenantShares()
  let turn = 0
  let decodeMs = 0

  /** If the writers of several tenants take longer together than one tenant after the other, the tenants take turns. */
  function writersOf(busy: readonly Answering[], of: ReadonlySet<string>): readonly Answering[] {
    if (of.size < 2) return busy
    const own = busy.filter(({ tenant }) => tenant === shares.next)
    return pace.isWorthSharing(busy.length, own.length, of.size) ? own : busy
  }

  /**
   * Drafts for the writers, all of the same length. Alongside prompts nothing is guessed. Sure tokens are read like a
   * prompt: all of them, up to `prompts` in total.
   */
  function draftsOf(answerings: readonly Answering[], prompts: number): Map<Answering, ChosenDraft> {
    const drafts = new Map<Answering, ChosenDraft>()
    const writers = answerings.filter(isDecoding)
    if (!isDrafting()) return drafts
    const areAlone = writers.length === answerings.length
    const room = Math.min(
      longestDraft,
      ...(areAlone ? [Math.floor(Math.min(maxDrafted, batch, mostRows) / writers.length) - 1] : [0]),
      ...writers.map(({ sequence }) => longest - (sequence?.tokens.length ?? 0) - 1),
    )
    const most = Math.max(0, room)
    const share = Math.floor(Math.min(batch, prompts) / writers.length) - 1
    const chances = writers.map((writer) => {
      const { sequence, request } = writer
      const left = longest - (sequence?.tokens.length ?? 0) - 1
      const asksAll = request.generation.logprobs !== undefined
      const bound = asksAll ? most : Math.max(0, Math.min(share, left))
      const draft = (isRecomputing(writer) ? undefined : writer.drafting?.next(most, bound)) ?? nothing
      drafts.set(writer, { ...draft, length: 0, unasked: asksAll ? 0 : draft.sure, bound })
      return draft.chance
    })
    const length = draftLength.choose(chances, most)
    for (const draft of drafts.values()) {
      const { tokens, sure, bound } = draft
      // After sure tokens, a draft is no longer than its tokens: rows that only fill up would cost more there.
      const own = Math.min(bound, tokens.length, sure + length)
      // A sequence with another number of rows is computed apart from the others, about as long as a batch for it alone.
      const isAhead = sure > 0 && sure >= writers.length
      draft.length = isAhead ? own : length
      if (!isAhead) draft.unasked = 0
    }
    return drafts
  }

  /** `tokens` of each may be read, and `prompts` of all prompts together. */
  function batchOf(each: { answering: Answering; tokens: number }[], prompts: number): Part[] {
    turn++
    const drafts = draftsOf(
      each.map(({ answering }) => answering),
      prompts,
    )
    const inOrder = each.toSorted(
      (one, other) => (one.answering.sequence?.id ?? 0) - (other.answering.sequence?.id ?? 0),
    )
    const left = inOrder.map(({ answering, answering: { request }, tokens }) => ({
      tokens: tokens + (drafts.get(answering)?.length ?? 0),
      most: request.promptLogprobs === undefined ? batch : mostRows,
      arrival: request.since,
      isWriting: isDecoding(answering),
    }))
    const counts = planBatch(left, {
      batch,
      prompts,
      oldestFirst: turn % oldestEvery === 0,
      inTiles: context.readsTiles,
    })
    context.begin(counts.reduce((sum, count) => sum + count, 0))
    const parts = inOrder.flatMap(({ answering, tokens: most }, index) => {
      const { sequence, request } = answering
      const count = counts[index] ?? 0
      if (count === 0 || sequence === undefined) return []
      request.queuedMs ??= performance.now() - request.since
      const draft = drafts.get(answering)
      const own = nextToRead(answering, count)
      const tokens = draft === undefined ? own : withDraft(own, draft)
      const checked =
        draft === undefined || isRecomputing(answering) ? 0 : Math.min(draft.tokens.length, draft.length)
      const sure = Math.min(draft?.unasked ?? 0, checked)
      const guessed = tokens.length - own.length
      const isPrompt = !isDecoding(answering)
      return [
        {
          answering,
          sequence,
          tokens,
          guessed,
          sure,
          checked,
          isPrompt,
          isLast: !isPrompt || count === most,
        },
      ]
    })
    return additionOrder(parts).map(
      ({ answering, sequence, tokens, guessed, sure, checked, isPrompt, isLast }) => {
        const { request } = answering
        const last = tokens.length - 1 - guessed
        const wanted =
          request.promptLogprobs !== undefined && !request.isRead
            ? Uint32Array.from(tokens.keys())
            : Uint32Array.from({ length: isLast ? 1 + checked - sure : 0 }, (_, at) => last + sure + at)
        const rows = context.add(sequence.id, sequence.tokens.length, tokens, wanted)
        return { answering, sequence, tokens, guessed, sure, rows, isPrompt, drawn: 0 }
      },
    )
  }

  return {
    readMs: pace.readMs,
    /**
     * Never in one batch with callers, whose batches are the same with and without background work. Even alone its
     * batches are as short as alongside callers, because a caller may arrive.
     */
    ofBackground(busy: readonly Answering[]): Part[] {
      return batchOf(
        busy.map((answering) => ({ answering, tokens: leftToRead(answering) })),
        pace.promptTokens(1, 1, true),
      )
    },
    ofCallers(busy: readonly Answering[]): Part[] {
      const meeting = new Set(busy.map(({ tenant }) => tenant))
      shares.meet(meeting)
      const answerings = busy.every(isDecoding) ? writersOf(busy, meeting) : busy
      const isShared = meeting.size > 1
      // A prompt delays the decoding of others: it waits while its tenant is ahead.
      const waits = (one: Answering) =>
        isShared && !isDecoding(one) && shares.isAhead(one.tenant, pace.aheadMs)
      const areTenantsActive = answerings.some(({ tenant }) => tenants.hasOthers(tenant))
      const writers = answerings.filter(isDecoding).length
      return batchOf(
        answerings.map((answering) => ({ answering, tokens: waits(answering) ? 0 : leftToRead(answering) })),
        pace.promptTokens(writers, answerings.length - writers, isShared || areTenantsActive),
      )
    },
    /** The native library took `ms`. */
    decoded(parts: readonly Part[], ms: number): void {
      const prompts = parts.filter(({ isPrompt }) => isPrompt)
      const read = prompts.reduce((sum, { tokens }) => sum + tokens.length, 0)
      pace.read(read, parts.length - prompts.length, ms)
      decodeMs = ms
      const rows = parts[0]?.tokens.length ?? 0
      const areEqual = parts.every(({ tokens }) => tokens.length === rows)
      if (prompts.length === 0 && areEqual) draftLength.decoded(parts.length, rows, ms)
    },
    /** A batch took `ms`, including sampling. */
    took(parts: readonly Part[], ms: number, isBackground: boolean): void {
      if (parts.every(({ isPrompt }) => !isPrompt)) {
        const drawn = parts.reduce((sum, part) => sum + part.drawn, 0)
        draftLength.drew(drawn, ms - decodeMs)
        // Batches with wrong guesses say nothing about how long writers take together.
        // Background work mostly has constraints, so its times say nothing about those of callers.
        const isPlain = !isBackground && parts.every(({ guessed }) => guessed === 0)
        // If each writer got several tokens, the time per token.
        if (isPlain) pace.wrote(parts.length, (ms * parts.length) / Math.max(parts.length, drawn))
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

/** All writers in a batch have equally many rows: if fewer tokens are guessed, the last known token fills the rest. */
function withDraft(own: Uint32Array, { tokens, length }: ChosenDraft): Uint32Array {
  const all = new Uint32Array(own.length + length).fill(own.at(-1) ?? 0)
  all.set(own)
  all.set(tokens.slice(0, length), own.length)
  return all
}
