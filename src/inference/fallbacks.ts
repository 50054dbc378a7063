import { Refusal, type RefusalCode } from '../domain/refusals.ts'
import type { ServedModel } from './backend.ts'
import type { AnswerEvent, Answering, AnswerRequest } from './model.ts'
import type { FoundModel } from './registry.ts'

/** A model that cannot answer now. What is wrong with a request, or beyond the share of a caller, is so at any model. */
const passing: ReadonlySet<RefusalCode> = new Set([
  'model_not_ready',
  'engine_queue_full',
  'engine_failed',
  'upstream_unavailable',
  'upstream_busy',
  'upstream_timeout',
  'upstream_failed',
])

export interface AnswerOfModel {
  answering: Answering
  /** Of the model that answers. */
  served: ServedModel
  /** The name of the model that was asked, where another answers in its place. */
  insteadOf?: string
}

/** The answer of the model, or of the first of its fallbacks that has begun one. */
export async function answerOf(
  { model, served, fallbacks }: FoundModel,
  request: AnswerRequest,
  signal: AbortSignal,
): Promise<AnswerOfModel> {
  const first = async () => ({
    answering: await model.answer(request, signal),
    // What was not loaded before is known now.
    served: model.served() ?? served,
  })
  if (fallbacks === undefined) return first()
  let failure: unknown
  try {
    const { answering, served: known } = await first()
    return { answering: await begun(answering), served: known }
  } catch (error) {
    if (signal.aborted || !isPassing(error)) throw error
    failure = error
  }
  for (const other of fallbacks) {
    try {
      const answering = await begun(await other.model.answer(request, signal))
      return {
        answering,
        served: other.model.served() ?? other.served,
        insteadOf: served.names[0] as string,
      }
    } catch (error) {
      if (signal.aborted || !(error instanceof Refusal)) throw error
    }
  }
  // The one that was asked is the one whose failure tells most.
  throw failure
}

const isPassing = (error: unknown) => error instanceof Refusal && passing.has(error.code)

/** Waits until the answer has something to say, so that what fails before it can be answered by another. */
async function begun(answering: Answering): Promise<Answering> {
  const events = answering.events[Symbol.asyncIterator]()
  const groups: AnswerEvent[][] = []
  for (;;) {
    const { done, value } = await events.next()
    if (done) break
    groups.push(value)
    if (value.some(({ kind }) => kind !== 'prefilled')) break
  }
  return { ...answering, events: following(groups, events) }
}

async function* following(
  groups: readonly AnswerEvent[][],
  rest: AsyncIterator<AnswerEvent[]>,
): AsyncGenerator<AnswerEvent[]> {
  yield* groups
  yield* { [Symbol.asyncIterator]: () => rest }
}
