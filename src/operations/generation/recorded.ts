import { JsonText, writeJson } from '../../domain/json/text.ts'
import type { EndedAnswer, Measured, Recording, WriteAnswer } from '../recording/answer.ts'
import type { Delta } from './deltas.ts'

/** The whole answer, assembled from deltas. Before they have ended it is the answer so far. */
export interface PartialAnswer {
  add(deltas: readonly Delta[]): Promise<void> | undefined
  end(): object
  /** What is too large to be kept of a stream. */
  leftOut?(): readonly string[]
}

/** An answer that is running or queued. */
export interface Answering {
  id: string
  head: { model: string }
  /** Must be read exactly once, to the end. */
  deltas: AsyncIterable<Delta[]>
  /** A failure before this settles is a refusal. */
  underWay: Promise<unknown> | undefined
}

interface Observed {
  /** Undefined if the deltas were never read. */
  measured(): Measured | undefined
  whyNot(error: unknown): string
  /** Absent if only the call of the answer is kept. */
  keep?: WriteAnswer
}

/** Follows an answer to its end and records it once: whole, or as far as it came. */
export function recordAnswer(
  recording: Recording,
  begun: Answering,
  answer: PartialAnswer,
  { measured, whyNot, keep }: Observed,
) {
  let told: JsonText | undefined

  function endedAnswer(exception?: string): EndedAnswer {
    const leftOut = answer.leftOut?.() ?? []
    return {
      completionId: begun.id,
      output: new JsonText(writeJson(answer.end())),
      ...(exception !== undefined && { exception }),
      ...(leftOut.length > 0 && { leftOut }),
      measured: measured() ?? unmeasured(begun),
    }
  }

  function end(exception?: string): JsonText {
    if (told !== undefined) return told
    const result = endedAnswer(exception)
    recording.end(result)
    told = result.output
    return told
  }

  async function complete(): Promise<JsonText> {
    if (keep === undefined) return end()
    const result = endedAnswer()
    await recording.keep(result, keep)
    told = result.output
    return told
  }

  return {
    /** Serialised once, for the client and for the record. */
    async whole(): Promise<JsonText> {
      try {
        for await (const group of begun.deltas) {
          const adding = answer.add(group)
          if (adding) await adding
        }
        return await complete()
      } catch (error) {
        end(whyNot(error))
        throw error
      }
    },
    /**
     * The deltas for a stream. Before the client learns that it has the last chunk, the answer is recorded. The
     * iterator is written by hand: another generator would cost each token as much as everything else done here.
     */
    deltas(): AsyncIterable<Delta[]> {
      const source = begun.deltas[Symbol.asyncIterator]()
      const next = async (): Promise<IteratorResult<Delta[]>> => {
        try {
          const step = await source.next()
          if (!step.done) {
            const adding = answer.add(step.value)
            if (adding) await adding
          } else if (keep === undefined) end()
          return step
        } catch (error) {
          end(whyNot(error))
          throw error
        }
      }
      const stop = async () => (await source.return?.()) ?? { done: true as const, value: undefined }
      return { [Symbol.asyncIterator]: () => ({ next, return: stop }) }
    },
    /** To be called before a client is told that the answer is complete. */
    async complete(): Promise<void> {
      try {
        if (keep !== undefined) await complete()
      } catch (error) {
        end(whyNot(error))
        throw error
      }
    },
    /** The client has disconnected. */
    left() {
      if (told === undefined) end(whyNot(undefined))
    },
  }
}

const unmeasured = ({ head }: Answering): Measured => ({
  model: head.model,
  prompt_tokens: 0,
  cached_tokens: 0,
  completion_tokens: 0,
  finish_reasons: [],
  total_ms: 0,
})
