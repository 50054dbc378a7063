import type { Config } from '../../config.ts'
import type { Caller } from '../../domain/callers.ts'
import type { JsonText, WithSharedTexts } from '../../domain/json/text.ts'
import type { CompletionKind } from '../../storage/answers/completions.ts'
import type { RecordedAnswer } from '../../storage/answers/recorded-answers.ts'

/** Where a call belongs, as its request says. */
export interface Place {
  project: string
  thread: string | null
  parent: string | null
  /** Of the parent, which need not be written yet. */
  trace: string | null
  /** This request is left out. */
  isOff: boolean
}

/** An answer that is about to be generated, and what will be told of it as a call. */
export interface AskedToRecord {
  caller: Caller
  place: Place
  kind: CompletionKind
  /** What its request says. */
  store?: boolean | null | undefined
  /** Where requests that say nothing ask for it all the same. */
  isAskedForBySilence?: boolean
  /** A field of it that means nothing where nothing is recorded. */
  needing?: { field: string; given: string } | undefined
  /** JSON object. */
  metadata?: JsonText | null | undefined
  isStream: boolean
  inputs: Inputs
}

/** The request, as its client wrote it and without its secrets. The text is asked for when the answer has ended. */
interface Inputs {
  /** About. */
  bytes: number
  json(): JsonText
}

/** What was measured of an answer. Times are milliseconds from the arrival of its request. */
export interface Measured {
  model: string
  prompt_tokens: number
  cached_tokens: number
  completion_tokens: number
  finish_reasons: readonly string[]
  /** Absent where there was none. */
  first_token_ms?: number
  total_ms: number
}

export interface EndedAnswer {
  completionId: string
  /** The whole answer, or what there was of it. */
  output: JsonText
  /** Why it is not whole. */
  exception?: string
  /** What the answer says and is too large to be kept. */
  leftOut?: readonly string[]
  measured: Measured
}

/** An answer that becomes a call when it has ended. */
export interface Recording {
  readonly callId: string
  readonly project: string
  /** How many calls the name of the parent stands for; 0 where it is an id of its own. */
  readonly parentMatches: number
  /** Rejects when the record takes no writes. Nothing is sent before it resolves; where it is absent that is known already. */
  readonly proof: Promise<void> | undefined
  /** To be called exactly once; without anything where there is no answer, because its request was refused. Never throws. */
  end(said?: EndedAnswer): void
  /**
   * In the place of `end`, where an answer is kept as more than its call: `write` takes the call along. Where it fails the
   * answer has not ended yet.
   */
  keep(said: EndedAnswer, write: WriteAnswer): Promise<void>
}

/** Resolves when the call is in the record. */
export type WriteAnswer = (call: WithSharedTexts<RecordedAnswer>) => Promise<void>

export interface Recorder {
  /**
   * Before anything is generated: the project and the parent are checked, and there is room for one more answer. Undefined
   * where this one is not recorded. Refuses while the record takes no writes.
   */
  open(asked: AskedToRecord, signal: AbortSignal): Promise<Recording | undefined>
  /** Which answers to this caller become calls, as far as its requests say nothing else. */
  modeOf(caller: Caller): Config['record']
  /** Resolves when what waits to be written under this id, of a call or of a completion, is in the record. */
  settled(project: string, id: string): Promise<void>
  /** Writes what waits, behind the end of the answers that are under way. */
  close(): Promise<void>
}
