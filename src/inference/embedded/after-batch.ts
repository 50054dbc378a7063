import type { GenerationEvent } from '../backend.ts'
import { promptLogprob } from '../sampling/logprobs.ts'
import type { Vocabulary } from '../vocabulary.ts'
import type { Admission } from './admission.ts'
import type { Part } from './batches.ts'
import type { NativeContext } from './native.ts'
import type { OpenRequests } from './open-requests.ts'
import type { Outbox } from './outbox.ts'
import { type Answering, leftToRead, noteRead, type Request } from './request.ts'
import type { SequenceMemory } from './sequence-memory.ts'

export interface AfterBatchParts {
  vocabulary: Vocabulary
  context: Pick<NativeContext, 'logits'>
  open: OpenRequests
  memory: SequenceMemory
  admission: Admission
  outbox: Outbox
}

/** After a batch: what was read is remembered, and answers whose tokens have all been read draw the next. */
export function createAfterBatch(parts: AfterBatchParts) {
  const { vocabulary, context, open, memory, admission, outbox } = parts
  /** Tokens of guesses that were checked, and those of them that were drawn. */
  const guesses = { checked: 0, right: 0 }

  /** Draws what comes next, and as long as that is what was guessed, what comes after it. */
  async function check(part: Part): Promise<void> {
    const { answering, sequence, tokens, guessed, rows } = part
    const first = tokens.length - guessed
    guesses.checked += rows.length - 1
    for (const [at, row] of rows.entries()) {
      if (at > 0) {
        const guess = tokens[first + at - 1]
        if (guess === undefined || answering.drawn !== guess || answering.sequence !== sequence) return
        if (open.isGone(answering)) return
        sequence.tokens.push(guess)
        sequence.guessed--
        guesses.right++
        noteRead(answering)
      }
      await answering.proceed(context.logits(row))
      part.drawn++
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
    const entries = await Promise.all(
      Array.from(rows, (row, index) => {
        const token = prompt[from + index + 1]
        if (token === undefined) return undefined
        return promptLogprob(context.logits(row), token, generation.promptLogprobs ?? 0, vocabulary)
      }),
    )
    for (const entry of entries) if (entry !== undefined) promptLogprobs?.push(entry)
  }

  return {
    guesses,
    async finish(part: Part): Promise<void> {
      const { answering, sequence, tokens, guessed, rows } = part
      const from = sequence.tokens.length
      for (const token of tokens.subarray(0, tokens.length - guessed)) sequence.tokens.push(token)
      sequence.guessed = guessed
      noteRead(answering)
      const { request } = answering
      try {
        if (request.promptLogprobs !== undefined && !request.isRead)
          await addPromptLogprobs(request, from, rows)
        if (open.isGone(answering) || leftToRead(answering) > 0) return
        if (guessed > 0 || part.isPrompt === false) {
          await check(part)
          return
        }
        const logits = context.logits(rows.at(-1) ?? Number.NaN)
        const others = request.isRead ? [] : await promptIsRead(answering)
        await Promise.all([answering, ...others].map((one) => one.proceed(logits)))
      } catch (error) {
        if (open.isGone(answering)) return
        open.drop(request)
        outbox.refuse(request.id, error)
      } finally {
        // Of a sequence that another has by now, there are none left.
        memory.forgetGuesses(sequence)
      }
    },
  }
}
