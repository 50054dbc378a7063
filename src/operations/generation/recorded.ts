import { JsonText, writeJson } from '../../domain/json/text.ts'
import type { Measured, Recording } from '../recording/answer.ts'
import type { Delta } from './deltas.ts'

/** The whole answer, put together of the deltas. Before they have ended it is what there is of it. */
export interface AnswerInTheMaking {
  add(deltas: readonly Delta[]): Promise<void>
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
}

interface Observed {
  /** Undefined where nothing was read of it. */
  measured(): Measured | undefined
  whyNot(error: unknown): string
}

/** Follows an answer to its end, and tells the record of it once: whole, or as far as it came. */
export function recordAnswer(
  recording: Recording,
  begun: Answering,
  answer: AnswerInTheMaking,
  { measured, whyNot }: Observed,
) {
  let output: JsonText | undefined

  function end(exception?: string): JsonText {
    if (output !== undefined) return output
    const leftOut = answer.leftOut?.() ?? []
    output = new JsonText(writeJson(answer.end()))
    recording.end({
      completionId: begun.id,
      output,
      ...(exception !== undefined && { exception }),
      ...(leftOut.length > 0 && { leftOut }),
      measured: measured() ?? unmeasured(begun),
    })
    return output
  }

  return {
    /** Written once, for the client and for the record. */
    async whole(): Promise<JsonText> {
      try {
        for await (const group of begun.deltas) await answer.add(group)
      } catch (error) {
        end(whyNot(error))
        throw error
      }
      return end()
    },
    /** What a stream is made of. */
    async *deltas(): AsyncGenerator<Delta[]> {
      for await (const group of begun.deltas) {
        await answer.add(group)
        yield group
      }
    },
    /** The answer waits to be written before its client knows that it was the last chunk. */
    async *chunks(chunks: AsyncIterable<object>): AsyncGenerator<object> {
      try {
        yield* chunks
        end()
      } catch (error) {
        end(whyNot(error))
        throw error
      } finally {
        end('client disconnected')
      }
    },
    /** Nobody reads any more. */
    left: () => void end('client disconnected'),
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
