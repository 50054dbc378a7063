import type { Config } from '../../config.ts'
import type { Caller } from '../../domain/callers.ts'
import type { JsonText, WithSharedTexts } from '../../domain/json/text.ts'
import type { CompletionKind } from '../../storage/answers/completions.ts'
import type { RecordedAnswer } from '../../storage/answers/recorded-answers.ts'
import type { Settlement } from '../../storage/limits/budgets.ts'
import type { CallToShadow } from '../../storage/objects/shadow-pairs.ts'
import type { CodingAgent, ContinuedTurn } from './agent-requests.ts'

/** Which words answered: `version` is the digest, `label` what the request asked for. */
export interface NamedPrompt {
  id: string
  version: string
  label: string
  variables: JsonText
}

/** Another version that is asked the same in the background, if the call is drawn. */
export interface ShadowToAsk {
  id: string
  /** Of the calls. */
  portion: number
  /** Made when the call is written. */
  asked(): Omit<CallToShadow, 'shadow_id'>
}

/** The project, thread and parent of a call, as the request gives them. */
export interface RecordingTarget {
  project: string
  thread: string | null
  parent: string | null
  /** Trace of the parent, which need not be written yet. */
  trace: string | null
  /** Whether `traceparent` says so. */
  isTraced?: boolean
  /** Whether the request turned recording off. */
  isOff: boolean
  /** Whether a header asks for it, whatever the body says. */
  isAsked: boolean
  /** The coding agent that asks. */
  agent?: CodingAgent | undefined
}

/** An answer that is about to be generated, and what its call will contain. */
export interface AskedToRecord {
  caller: Caller
  target: RecordingTarget
  kind: CompletionKind
  /** The API of the client, if it is not the one of this kind. */
  wire?: string | undefined
  /** The `store` of the request. */
  store?: boolean | null | undefined
  /** Whether requests without `store` ask for it all the same. */
  isAskedForBySilence?: boolean
  /** A field of the request that has no meaning unless the answer is recorded. */
  needing?: { field: string; received: string } | undefined
  /** JSON object. */
  metadata?: JsonText | null | undefined
  /** The prompt that the request names. */
  prompt?: NamedPrompt | undefined
  shadow?: ShadowToAsk | undefined
  /** The line of a batch that asked for it. */
  batched?: object | undefined
  /** Absent if the request begins a turn of its conversation. */
  continued?: ContinuedTurn | undefined
  isStream: boolean
  inputs: Inputs
}

/** The request as the client wrote it, without its secrets. The text is made when the answer has ended. */
interface Inputs {
  /** Approximate. */
  bytes: number
  json(): JsonText
}

/** What was measured of an answer. Times are milliseconds from the arrival of the request. */
export interface Measured {
  model: string
  prompt_tokens: number
  cached_tokens: number
  completion_tokens: number
  /** In dollars, if the server behind the model reports it. */
  cost?: number
  finish_reasons: readonly string[]
  /** Absent if there was none. */
  first_token_ms?: number
  total_ms: number
}

export interface EndedAnswer {
  completionId: string
  /** The whole answer, or what there was of it. */
  output: JsonText
  /** Why it is not whole. */
  exception?: string
  /** What the answer has but is too large to be kept. */
  leftOut?: readonly string[]
  measured: Measured
}

/** An answer that becomes a call when it has ended. */
export interface Recording {
  readonly callId: string
  readonly project: string
  /** How many calls the name of the parent stands for; 0 if it is the id of a call. */
  readonly parentMatches: number
  /**
   * Rejects if the record refuses writes. Nothing is sent before it resolves. Absent if a write has succeeded lately.
   */
  readonly proof: Promise<void> | undefined
  /** Settles the budgets of the answer in the transaction that writes it. */
  settles(spent: RecordedSpend): void
  /** Must be called exactly once; without an argument if the request was refused and so has no answer. Never throws. */
  end(result?: EndedAnswer): void
  /**
   * In place of `end`, for answers of which more than the call is kept: `write` writes the call as well. If it fails,
   * the answer has not ended yet.
   */
  keep(result: EndedAnswer, write: WriteAnswer): Promise<void>
}

/** What an answer has cost. */
export interface RecordedSpend {
  settlement: Settlement
  /** The write has settled it, or never will. */
  over(isSettled: boolean): void
}

/** Resolves when the call is in the record. */
export type WriteAnswer = (call: WithSharedTexts<RecordedAnswer>) => Promise<void>

export interface Recorder {
  /**
   * Called before anything is generated. Checks the project and the parent, and waits for room for one more answer.
   * Undefined if the answer is not recorded. Refuses while the record refuses writes.
   */
  open(asked: AskedToRecord, signal: AbortSignal): Promise<Recording | undefined>
  /** Why nothing of this request is recorded, whatever its body says; undefined if it may be. */
  whyOff(caller: Caller, target: RecordingTarget): string | undefined
  /** Which answers to this caller become calls unless a request says otherwise. */
  modeOf(caller: Caller): Config['record']
  /** Resolves when answers waiting under this id, of a call or of a completion, are in the record; all of the project without an id. */
  settled(project: string, id?: string): Promise<void>
  /** Writes what is waiting, after the running answers have ended. */
  close(): Promise<void>
}
