import type { NativeContext } from '../native/native.ts'
import { additionOrder, planBatch } from './batch-plan.ts'
import { createDecodeTimes } from './decode-times.ts'
import { type BatchDraft, createBatchDrafts } from './drafts/batch-drafts.ts'
import { createParticipants } from './participants.ts'
import { createPromptPace } from './prompt-pace.ts'
import { type Answering, isDecoding, leftToRead, nextToRead } from './request.ts'
import type { Sequence } from './sequences.ts'
import type { ActiveTenants } from './turns/active-tenants.ts'
import { createTenantShares } from './turns/tenant-shares.ts'

/** What one sequence reads in a batch. */
export interface BatchItem {
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

interface BatchesOptions {
  context: Pick<NativeContext, 'begin' | 'add' | 'readsTiles' | 'hasPlainAttention'>
  tenants: ActiveTenants
  /** Most tokens in a batch. */
  batch: number
  /** Most rows of logits in a batch. */
  maxRows: number
  /** Most tokens in a sequence. */
  maxTokens: number
  /** Whether tokens are guessed ahead. */
  isDrafting(): boolean
}

/** An answer, and how many of its tokens the batch may read. */
interface Candidate {
  answering: Answering
  tokens: number
}

const noDraft: BatchDraft = { tokens: [], sure: 0, rows: 0 }

/** One of so many batches reads from the prompt that has waited longest. */
const oldestEvery = 4

/** Decides which answers are in the next batch and how much each reads, from the times of the last ones. */
export function createBatches({ context, tenants, batch, maxRows, maxTokens, isDrafting }: BatchesOptions) {
  const decodeTimes = createDecodeTimes()
  const pace = createPromptPace(decodeTimes, context)
  const drafting = createBatchDrafts({ batch, maxRows, context: maxTokens }, () => pace.readMs(1))
  const shares = createTenantShares()
  const participants = createParticipants({ decodeTimes, shares, readMs: pace.readMs })
  let turn = 0
  let decodeMs = 0

  function draftsOf(answerings: readonly Answering[], prompts: number): ReadonlyMap<Answering, BatchDraft> {
    const decoding = answerings.filter(isDecoding)
    if (!isDrafting() || decoding.length === 0) return new Map()
    return drafting.draftsOf(decoding, decoding.length === answerings.length, prompts)
  }

  /** How many tokens each answer reads; `prompts` of all prompts together. */
  function countsOf(
    candidates: readonly Candidate[],
    drafts: ReadonlyMap<Answering, BatchDraft>,
    prompts: number,
  ): number[] {
    const remaining = candidates.map(({ answering, tokens }) => ({
      tokens: tokens + (drafts.get(answering)?.rows ?? 0),
      maxTokens: answering.request.promptLogprobs === undefined ? batch : maxRows,
      arrival: answering.request.since,
      isDecoding: isDecoding(answering),
    }))
    const oldestFirst = turn % oldestEvery === 0
    return planBatch(remaining, { batch, prompts, oldestFirst, readsTiles: context.readsTiles })
  }

  /** Fills the batch of the native library; `prompts` tokens of all prompts together. */
  function batchOf(candidates: readonly Candidate[], prompts: number): BatchItem[] {
    turn++
    const drafts = draftsOf(
      candidates.map(({ answering }) => answering),
      prompts,
    )
    const inOrder = candidates.toSorted(
      (a, b) => (a.answering.sequence?.id ?? 0) - (b.answering.sequence?.id ?? 0),
    )
    const counts = countsOf(inOrder, drafts, prompts)
    const items = inOrder.flatMap(({ answering, tokens }, index) => {
      const draft = drafts.get(answering) ?? noDraft
      const count = counts[index] ?? 0
      const isLast = isDecoding(answering) || count === tokens
      return count === 0 ? [] : itemOf(answering, count, draft, isLast)
    })
    context.begin(counts.reduce((sum, count) => sum + count, 0))
    return additionOrder(items, context.hasPlainAttention).map(({ wanted, ...item }) => {
      const { sequence, tokens } = item
      return { ...item, rows: context.add(sequence.id, sequence.tokens.length, tokens, wanted) }
    })
  }

  function itemOf(answering: Answering, count: number, draft: BatchDraft, isLast: boolean) {
    const { sequence, request } = answering
    if (sequence === undefined) return []
    request.queuedMs ??= performance.now() - request.since
    const own = nextToRead(answering, count)
    const tokens = withDraft(own, draft)
    const { sure } = draft
    const isAllWanted = request.promptLogprobs !== undefined && !request.isRead
    const wanted = isAllWanted
      ? Uint32Array.from(tokens.keys())
      : Uint32Array.from(
          { length: isLast ? 1 + draft.tokens.length - sure : 0 },
          (_, row) => own.length - 1 + sure + row,
        )
    const isPrompt = !isDecoding(answering)
    return [{ answering, sequence, tokens, guessed: draft.rows, sure, wanted, isPrompt, drawn: 0 }]
  }

  return {
    readMs: pace.readMs,
    /**
     * Never in one batch with callers, whose batches are the same with and without background work. Even alone its
     * batches are as short as alongside callers, because a caller may arrive.
     */
    ofBackground: (answerings: readonly Answering[]): BatchItem[] =>
      batchOf(
        answerings.map((answering) => ({ answering, tokens: leftToRead(answering) })),
        pace.maxTokens({ decoding: 1, prefilling: 1, isShared: true }),
      ),
    ofCallers(running: readonly Answering[]): BatchItem[] {
      const meeting = new Set(running.map(({ tenant }) => tenant))
      shares.meet(meeting)
      const isShared = meeting.size > 1 || running.some(({ tenant }) => tenants.hasOthers(tenant))
      const answerings = isShared
        ? participants.inTurn(running, meeting.size)
        : participants.startingTogether(running)
      const decoding = answerings.filter(isDecoding).length
      return batchOf(
        answerings.map((answering) => ({
          answering,
          tokens: participants.waitsForOthers(answering, meeting.size) ? 0 : leftToRead(answering),
        })),
        pace.maxTokens({ decoding, prefilling: answerings.length - decoding, isShared }),
      )
    },
    /** The native library took `ms`. */
    decoded(items: readonly BatchItem[], ms: number): void {
      const prompts = items.filter(({ isPrompt }) => isPrompt)
      const read = prompts.reduce((sum, { tokens }) => sum + tokens.length, 0)
      pace.took(read, items.length - prompts.length, ms)
      decodeMs = ms
      const rows = items[0]?.tokens.length ?? 0
      const areEqual = items.every(({ tokens }) => tokens.length === rows)
      if (prompts.length === 0 && areEqual) drafting.decoded(items.length, rows, ms)
    },
    /** A batch took `ms`, including sampling. */
    took(items: readonly BatchItem[], ms: number, isBackground: boolean): void {
      if (items.every(({ isPrompt }) => !isPrompt)) {
        const drawn = items.reduce((sum, item) => sum + item.drawn, 0)
        drafting.drew(drawn, ms - decodeMs)
        // Background work mostly has constraints, so its times say nothing about those of callers, nor do batches with
        // guesses about how long sequences take together.
        const isPlain = !isBackground && items.every(({ guessed }) => guessed === 0)
        if (isPlain) decodeTimes.took(items.length, ms)
      }
      if (isBackground) return
      const tokens = new Map<string, number>()
      for (const { answering, tokens: read } of items) {
        tokens.set(answering.tenant, (tokens.get(answering.tenant) ?? 0) + read.length)
      }
      shares.pay(tokens, ms)
    },
  }
}

/** Rows without a token of the draft have the last known token. */
function withDraft(own: Uint32Array, { tokens, rows }: BatchDraft): Uint32Array {
  const all = new Uint32Array(own.length + rows).fill(own.at(-1) ?? 0)
  all.set(own)
  all.set(tokens, own.length)
  return all
}
