import type { ServedModel } from '../../../packages/engine/index.ts'
import type { Caller } from '../../domain/callers.ts'
import { clockNow } from '../../domain/clock.ts'
import { passOnRefusal, Refusal, refuse } from '../../domain/refusals.ts'
import type { AnsweredLater } from '../../http/inside.ts'
import { type AnswerOfModel, answerWithFallbacks } from '../../inference/fallbacks.ts'
import type { Answering, AnswerRequest } from '../../inference/model.ts'
import { digestOfModel } from '../../inference/model-digest.ts'
import type { FoundModel } from '../../inference/registry.ts'
import { version } from '../../version.ts'
import { answerWithin } from '../budgets/holding.ts'
import type { Recording } from '../recording/answer.ts'
import { createDeltas, type Delta, type DeltaOptions } from './deltas.ts'
import { type GenerationRecord, observed } from './observed.ts'
import type { GenerationParts } from './parts.ts'
import { promptGroupOf } from './prompt-group.ts'
import { type AnswerTimes, metricsOf } from './request-metrics.ts'

/** The caller, and what else is known of the request besides its body. */
export interface GenerationContext {
  caller: Caller
  /** Id of the answer, without its prefix. */
  id: string
  /** When the request arrived, by `performance.now()`. */
  arrived: number
  /** By default that of callers. */
  lane?: AnswerRequest['lane']
  traceparent?: AnswerRequest['traceparent']
  /** Aborts when the client disconnects. */
  signal: AbortSignal
  /** The project that the answer belongs to, recorded or not. */
  project: string
  /** The response in the background that is answered. */
  waiting?: AnsweredLater
  /** Refuses fields without effect, where they are not only named. */
  refuseIgnored?: (fields: readonly string[]) => void
  /** Receives what a header says about budgets that are nearly used up. */
  warn?: (text: string) => void
  /** Absent when the answer is not recorded. */
  recording?: Recording | undefined
  /** Receives the record of the generation when it ends. */
  note(record: GenerationRecord): void
}

/** A request whose prompts are all running or queued. */
export interface Generation {
  /** Fields of the answer and of each of its chunks, besides their id and kind. */
  head: { created: number; model: string; system_fingerprint: string }
  /** The tokens of each prompt. */
  prompts: readonly number[][]
  promptTexts?: Answering['promptTexts']
  /** Number of answers to each prompt. */
  choices: number
  /** In groups, as they come from the model. Must be read exactly once, to the end. */
  deltas: AsyncIterable<Delta[]>
  /** What was widened in the schemas of tools. */
  widened: readonly string[]
  /** Fields that have no effect on this model. */
  ignored: readonly string[]
  /** Names in schemas that nearly are a keyword, and so have no effect. */
  notes: readonly string[]
  /** The counts of a remote server, which replace those counted here. */
  told?: Answering['usage']
  /** How long it took so far, if answers say so. */
  requestMetrics?: () => ReturnType<typeof metricsOf>
  /** Awaited before the head of the response is sent: a failure until then is a refusal. */
  underWay: Answering['underWay']
}

/** The fields of the body that refusals of the engine name. */
export interface FieldNames {
  prompt: string
  maxTokens: string
  /** The template, if the request has one: it then decides whether the prompt has any text. */
  template?: string
}

/** Refuses everything that can be wrong before the first byte of an answer. */
export async function generate(
  { metrics, running, settings, charge, budgets }: GenerationParts,
  found: FoundModel,
  asked: AnswerRequest,
  context: GenerationContext,
  names: FieldNames,
  shown: Omit<DeltaOptions, 'createParser'> = {},
): Promise<Generation> {
  const { caller, arrived, lane, traceparent, signal, note, recording, refuseIgnored } = context
  const promptGroup = promptGroupOf(caller, settings.promptSharing)
  const request = {
    ...asked,
    ...(promptGroup !== undefined && { promptGroup }),
    ...(lane && { lane }),
    ...(traceparent && { traceparent }),
    ...(refuseIgnored && { refuseIgnored }),
  }
  const { answering, served, insteadOf, hold } = await answerWithin(
    budgets,
    found,
    request,
    context,
    (within) => naming(answerWithFallbacks(found, request, within), names),
  )
  const name = served.names[0] as string
  const times: AnswerTimes = { tokens: 0 }
  return {
    head: {
      created: Math.floor(clockNow() / 1000),
      model: name,
      system_fingerprint: fingerprintOf(served),
    },
    prompts: answering.prompts,
    ...(answering.promptTexts && { promptTexts: answering.promptTexts }),
    choices: request.choices,
    deltas: observed(answering, createDeltas({ createParser: answering.createParser, ...shown }), {
      arrived,
      model: name,
      insteadOf,
      user: caller.name,
      isBackground: request.lane === 'background',
      running,
      metrics: metrics[request.lane ?? 'callers'](name),
      times,
      signal,
      note(record) {
        note(record)
        const { prompt_tokens: prompt, completion_tokens: completion } = record
        hold?.settle(name, { prompt, completion }, recording)
      },
      charge: (tokens) => charge(caller, tokens),
    }),
    widened: answering.widened ?? [],
    ignored: answering.ignored ?? [],
    notes: answering.notes ?? [],
    ...(answering.usage && { told: answering.usage }),
    ...(settings.requestMetrics && {
      requestMetrics: () => metricsOf(times, answering.prompts.length * request.choices),
    }),
    underWay: answering.underWay,
  }
}

/** The engine knows that a prompt is empty or too long for the context, but not which field caused it. */
async function naming(answering: Promise<AnswerOfModel>, names: FieldNames): Promise<AnswerOfModel> {
  try {
    return await answering
  } catch (error) {
    // A refusal of a remote server keeps its own words.
    if (!(error instanceof Refusal) || error.isTold) throw error
    if (error.code === 'prompt_empty') throw refuse(error.code, { field: names.template ?? names.prompt })
    if (error.code !== 'context_length_exceeded') throw error
    const { limit, answer } = error.values
    const isAnswer = typeof answer === 'number' && answer >= Number(limit)
    const field = isAnswer ? names.maxTokens : names.prompt
    throw passOnRefusal({ code: error.code, values: { ...error.values, field } })
  }
}

const fingerprints = new WeakMap<ServedModel, string>()

/** Changes when the same request may be answered differently. */
function fingerprintOf(served: ServedModel): string {
  let fingerprint = fingerprints.get(served)
  if (fingerprint === undefined) {
    fingerprint = `heddle-${version}-${digestOfModel(served).slice(0, 8)}`
    fingerprints.set(served, fingerprint)
  }
  return fingerprint
}
