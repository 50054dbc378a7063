import type { Vocabulary } from '../../constraints/index.ts'
import type { GenerationEvent } from '../backend.ts'
import type { NativeContext } from '../native/native.ts'
import { promptLogprob } from '../sampling/logprobs.ts'
import type { Admission } from './admission.ts'
import type { BatchItem } from './batches.ts'
import type { OpenRequests } from './open-requests.ts'
import type { Outbox } from './outbox.ts'
import {
  type AcceptToken,
  type Answering,
  isRecomputing,
  leftToRead,
  noteRead,
  type Request,
} from './request.ts'
import type { SequenceMemory } from './sequence-memory.ts'

interface AfterBatchOptions {
  vocabulary: Vocabulary
  context: Pick<NativeContext, 'logits'>
  open: OpenRequests
  memory: SequenceMemory
  admission: Admission
  outbox: Outbox
}

function told<Value>(asked: PromiseSettledResult<Value>): Value {
  if (asked.status === 'rejected') throw asked.reason
  return asked.value
}

/**
 * An answer that lost its sequence has drawn its token already. Where prompt logprobs are wanted, all tokens of the
 * prompt have rows of logits.
 */
function drawsBehindPrompt({ request, drawn, again }: Answering): boolean {
  return drawn === undefined && again.length === 0 && request.promptLogprobs === undefined
}

/** After a batch: records what was read, and draws the next token of each answer whose tokens have all been read. */
export function createAfterBatch(options: AfterBatchOptions) {
  const { vocabulary, context, open, memory, admission, outbox } = options
  /** Guesses that were checked, and how many of them were drawn. */
  const guesses = { checked: 0, right: 0 }

  /** Accepts the next token and, as long as it equals the guess, draws the one after it. `known` is what comes first. */
  async function check(item: BatchItem, known: readonly AcceptToken[]): Promise<void> {
    const { answering, sequence, tokens, guessed, sure, rows } = item
    const first = tokens.length - guessed
    guesses.checked += rows.length - 1
    for (let at = 0; at < sure + rows.length; at++) {
      if (at > 0) {
        const guess = tokens[first + at - 1]
        if (guess === undefined || answering.drawn !== guess || answering.sequence !== sequence) return
        if (open.isGone(answering)) return
        sequence.tokens.push(guess)
        sequence.guessed--
        if (at > sure) guesses.right++
        noteRead(answering)
      }
      const row = rows[at - sure]
      const accept = known[at] ?? (row !== undefined && (await answering.ask(context.logits(row))))
      if (!accept) return
      await accept()
      if (row !== undefined) item.drawn++
    }
  }

  async function promptIsRead(leader: Answering): Promise<Answering[]> {
    const { request } = leader
    request.isRead = true
    if (!leader.isBackground) outbox.hurry()
    const event: GenerationEvent = { kind: 'prefilled', cachedTokens: leader.cached }
    if (request.queuedMs !== undefined) event.queuedMs = request.queuedMs
    if (request.promptLogprobs !== undefined) event.promptLogprobs = request.promptLogprobs
    outbox.put(request.id, event)
    return admission.admitFollowers(leader)
  }

  async function addPromptLogprobs(
    { prompt, promptLogprobs, generation }: Request,
    from: number,
    rows: Uint32Array,
  ) {
    for (const [index, row] of rows.entries()) {
      const token = prompt[from + index + 1]
      if (token === undefined) continue
      const logits = await context.logits(row)()
      promptLogprobs?.push(promptLogprob(logits, token, generation.promptLogprobs ?? 0, vocabulary))
    }
  }

  /**
   * While the batch is being computed, sure tokens are accepted, and the draw after them, or after a prompt that ends in
   * this batch, works out what needs no logits.
   */
  async function lookAhead({ answering, isPrompt, sure, rows }: BatchItem): Promise<AcceptToken[]> {
    const [row] = rows
    if (row === undefined) return []
    if (isPrompt ? !drawsBehindPrompt(answering) : isRecomputing(answering)) return []
    const known = sure === 0 ? [] : answering.acceptSure(sure)
    return [...known, await answering.ask(context.logits(row))]
  }

  return {
    guesses,
    /** To be called when the batch has begun; resolves after the batch. `decoding` is false when it was stopped. */
    async finish(item: BatchItem, decoding: Promise<boolean>): Promise<void> {
      const { answering, sequence, tokens, guessed, rows } = item
      const [known] = await Promise.allSettled([lookAhead(item)])
      if (!(await decoding)) return
      const from = sequence.tokens.length
      for (const token of tokens.subarray(0, tokens.length - guessed)) sequence.tokens.push(token)
      sequence.guessed = guessed
      noteRead(answering)
      const { request } = answering
      try {
        if (request.promptLogprobs !== undefined && !request.isRead)
          await addPromptLogprobs(request, from, rows)
        if (open.isGone(answering) || leftToRead(answering) > 0) return
        if (guessed > 0 || !item.isPrompt) {
          await check(item, told(known))
          return
        }
        const [drawn] = told(known)
        const logits = context.logits(rows.at(-1) ?? Number.NaN)
        const others = request.isRead ? [] : await promptIsRead(answering)
        const draw = async (target: Answering) => (await target.ask(logits))()
        await Promise.all([drawn === undefined ? draw(answering) : drawn(), ...others.map(draw)])
      } catch (error) {
        if (open.isGone(answering)) return
        open.drop(request)
        outbox.refuse(request.id, error)
      } finally {
        // If the sequence belongs to another answer by now, it has no guesses left.
        memory.discardGuesses(sequence)
      }
    },
  }
}
