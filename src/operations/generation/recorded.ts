import { JsonText, writeJson } from '../../domain/json/text.ts'
import type { EndedAnswer, Measured, Recording, WriteAnswer } from '../recording/answer.ts'
import type { Delta } from './deltas.ts'

/** The whole answer, put together of the deltas. Before they have ended it is what there is of it. */
export interface AnswerInTheMaking {
  add(deltas: readonly Delta[]): Promise<void> | undefined
  end(): object
  /** What is too large to be kept of a stream. */
  leftOut?(): readonly string[]
}

/** An answer that runs or is queued. */
export interface Answering {
  id: string
  head: { model: string }
  /** Read once, and to their end. */
  deltas: AsyncIterable<Delta[]>
  /** What fails before it is a refusal. */
  underWay: Promise<unknown> | undefined
}

interface Observed {
  /** Undefined where nothing was read of it. */
  measured(): Measured | undefined
  whyNot(error: unknown): string
  /** Absent where the answer is kept as nothing but its call. */
  keep?: WriteAnswer
}

/** Follows an answer to its end, and tells the record of it once: whole, or as far as it came. */
export function recordAnswer(
  recording: Recording,
  begun: Answering,
  answer: AnswerInTheMaking,
  { measured, whyNot, keep }: Observed,
) {
  let told: JsonText | undefined

  function saidOf(exception?: string): EndedAnswer {
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
    const said = saidOf(exception)
    recording.end(said)
    told = said.output
    return told
  }

  async function complete(): Promise<JsonText> {
    if (keep === undefined) return end()
    const said = saidOf()
    await recording.keep(said, keep)
    told = said.output
    return told
  }

  return {
    /** Written once, for the client and for the record. */
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
     * What a stream is made of. The answer waits to be written before its client knows that it was the last chunk. By hand,
     * because another generator would cost each token as much as all else that is done for it here.
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
    /** Before a client is told that the answer is complete. */
    async complete(): Promise<void> {
      try {
        if (keep !== undefined) await complete()
      } catch (error) {
        end(whyNot(error))
        throw error
      }
    },
    /** Nobody reads any more. */
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
