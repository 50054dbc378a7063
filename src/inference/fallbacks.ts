import type { ServedModel } from '../../packages/engine/index.ts'
import { Refusal, type RefusalCode } from '../domain/refusals.ts'
import type { AnswerEvent, Answering, AnswerRequest } from './model.ts'
import type { FoundModel } from './registry.ts'

/**
 * Failures of a model that cannot answer now. If the request itself is wrong, or exceeds a limit of its caller, it
 * would fail with any model.
 */
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
  /** The model that answers. */
  served: ServedModel
  /** The name of the requested model, if another one answers instead. */
  insteadOf?: string
}

/** The answer of the model, or of the first of its fallbacks that begins one. */
export async function answerWithFallbacks(
  { model, served, fallbacks }: FoundModel,
  request: AnswerRequest,
  signal: AbortSignal,
): Promise<AnswerOfModel> {
  const first = async () => ({
    answering: await model.answer(request, signal),
    // A model that was not loaded before is known now.
    served: model.served() ?? served,
  })
  if (fallbacks === undefined) return first()
  let failure: unknown
  try {
    const { answering, served: known } = await first()
    return { answering: await begun(answering), served: known }
  } catch (error) {
    if (signal.aborted || !isTemporary(error)) throw error
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
  // The failure of the requested model says the most.
  throw failure
}

const isTemporary = (error: unknown) => error instanceof Refusal && passing.has(error.code)

/** Waits for the first event after the prefill, so that another model can answer if this one fails before it. */
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
