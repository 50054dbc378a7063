import { hash } from 'node:crypto'
import type { Caller } from '../../domain/callers.ts'
import { clockNow } from '../../domain/clock.ts'
import { Refusal, refuse } from '../../domain/refusals.ts'
import type { ServedModel } from '../../inference/backend.ts'
import { type AnswerOfModel, answerOf } from '../../inference/fallbacks.ts'
import type { Answering, AnswerRequest } from '../../inference/model.ts'
import type { FoundModel } from '../../inference/registry.ts'
import { version } from '../../version.ts'
import type { Recording } from '../recording/answer.ts'
import { createDeltas, type Delta, type DeltaOptions } from './deltas.ts'
import { type GenerationRecord, observed } from './observed.ts'
import type { GenerationParts } from './parts.ts'

/** Who asks, and what is to be known of it beside the body. */
export interface Asking {
  caller: Caller
  /** Of the answer, without its prefix. */
  id: string
  /** When the request arrived, as `performance.now()` counts. */
  arrived: number
  /** Aborts when the client has left. */
  signal: AbortSignal
  /** Absent where the answer is not recorded. */
  recording?: Recording | undefined
  /** Takes the record of the generation when it ends. */
  note(record: GenerationRecord): void
}

/** A request whose prompts are all running or queued. */
export interface Generation {
  /** What the answer and each chunk of it say about themselves, beside their id and kind. */
  head: { created: number; model: string; system_fingerprint: string }
  /** The tokens of each prompt. */
  prompts: readonly number[][]
  /** Answers to each prompt. */
  choices: number
  /** In groups, as the model gives them. Read once, and to their end. */
  deltas: AsyncIterable<Delta[]>
  /** What of the schemas of tools was widened. */
  widened: readonly string[]
  /** Names in schemas that are nearly a keyword, and say nothing. */
  notes: readonly string[]
  /** What a server elsewhere has counted, in place of what is counted here. */
  told?: Answering['usage']
  /** Whoever answers a client waits for it before the head: what fails until then is a refusal. */
  underWay: Answering['underWay']
}

/** The fields of the body by which a refusal of the engine is explained. */
export interface FieldNames {
  prompt: string
  maxTokens: string
}

/** Everything that can be wrong is refused here, before there is a first byte of an answer. */
export async function generate(
  { metrics, running, charge }: GenerationParts,
  found: FoundModel,
  request: AnswerRequest,
  { caller, arrived, signal, note }: Asking,
  names: FieldNames,
  shown: Omit<DeltaOptions, 'createParser'> = {},
): Promise<Generation> {
  const { answering, served, insteadOf } = await naming(answerOf(found, request, signal), names)
  const name = served.names[0] as string
  return {
    head: {
      created: Math.floor(clockNow() / 1000),
      model: name,
      system_fingerprint: fingerprintOf(served),
    },
    prompts: answering.prompts,
    choices: request.choices,
    deltas: observed(answering, createDeltas({ createParser: answering.createParser, ...shown }), {
      arrived,
      model: name,
      insteadOf,
      user: caller.name,
      isBackground: request.lane === 'background',
      running,
      metrics: metrics[request.lane ?? 'callers'],
      signal,
      note,
      charge: (tokens) => charge(caller, tokens),
    }),
    widened: answering.widened ?? [],
    notes: answering.notes ?? [],
    ...(answering.usage && { told: answering.usage }),
    underWay: answering.underWay,
  }
}

/** The engine knows that a prompt is empty, or too long for the context, but not which field made it so. */
async function naming(answering: Promise<AnswerOfModel>, names: FieldNames): Promise<AnswerOfModel> {
  try {
    return await answering
  } catch (error) {
    // What a server elsewhere refuses comes in its own words.
    if (!(error instanceof Refusal) || error.isTold) throw error
    if (error.code === 'prompt_empty') throw refuse(error.code, { field: names.prompt })
    if (error.code !== 'context_length_exceeded') throw error
    const { limit, answer } = error.values
    const isAnswer = typeof answer === 'number' && answer >= Number(limit)
    throw refuse(error.code, { ...error.values, field: isAnswer ? names.maxTokens : names.prompt })
  }
}

const fingerprints = new WeakMap<ServedModel, string>()

/** Changes when the same request may be answered in another way. */
function fingerprintOf(served: ServedModel): string {
  let fingerprint = fingerprints.get(served)
  if (fingerprint === undefined) {
    const { source, bytes, parameters, vocabulary } = served
    const digest = hash('sha256', JSON.stringify([source, bytes, parameters, vocabulary]))
    fingerprint = `heddle-${version}-${digest.slice(0, 8)}`
    fingerprints.set(served, fingerprint)
  }
  return fingerprint
}
