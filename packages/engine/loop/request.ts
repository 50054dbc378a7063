import type { Generation, PromptLogprobs } from '../backend.ts'
import type { ReadLogits } from '../sampling/logits.ts'
import type { Drafting } from './drafts/drafting.ts'
import type { Sequence } from './sequences.ts'

/** A generation that the engine has accepted. */
export interface Request {
  readonly id: number
  readonly generation: Generation
  readonly prompt: readonly number[]
  /** One for each prompt token whose logits have been read; undefined when the request does not want them. */
  readonly promptLogprobs: PromptLogprobs | undefined
  readonly priority: number
  readonly since: number
  /** How long it waited for the first batch that read from its prompt. */
  queuedMs: number | undefined
  /** The answer that reads the prompt for all; undefined when each reads it by itself, or until one begins. */
  leader: Answering | undefined
  /** Whether one answer reads the prompt for all. */
  readonly isShared: boolean
  /** How many sequences it needs to begin: all of them for a beam search, otherwise one for each answer. */
  readonly together: number
  /** The prompt has been read. */
  isRead: boolean
  /** At least one of its answers has, or had, a sequence. */
  hasBegun: boolean
  readonly unfinished: Set<Answering>
}

/** Accepts the token that was drawn. */
export type AcceptToken = () => void | Promise<void>

/** One of the answers of a generation, or one of the beams of a search. */
export interface Answering {
  readonly request: Request
  readonly isBackground: boolean
  priority: number
  readonly tenant: string
  /** The sequence on which it runs; undefined while it waits. */
  sequence: Sequence | undefined
  /** How much of the prompt was in the KV cache when it got its sequence. */
  cached: number
  /** The token that was drawn and has not been read yet. */
  drawn: number | undefined
  /** Its own tokens that had been read when it last lost its sequence. They are read again one by one, before `drawn`. */
  again: readonly number[]
  /** Guesses how it continues; undefined where that is not wanted, and for beams. */
  drafting: Drafting | undefined
  /** A beam without continuations at the moment, which may be needed again. */
  isIdle: boolean
  /**
   * Accepts at most `most` tokens that come next whatever the model says, one after the other. May be called while they
   * are being read.
   */
  acceptSure(most: number): AcceptToken[]
  /** Asks for the next token after everything so far. May be called while that is being read; resolves when it has been. */
  ask(read: ReadLogits): Promise<AcceptToken>
}

/** Whether its prompt has been read, so that it decodes its own tokens one by one. */
export function isDecoding({ request, sequence, drawn }: Answering): boolean {
  return drawn !== undefined && (sequence?.tokens.length ?? 0) >= request.prompt.length
}

/** Whether it reads again what it had written before it lost its sequence. */
export function isRecomputing({ request, sequence, again }: Answering): boolean {
  return (sequence?.tokens.length ?? 0) - request.prompt.length < again.length
}

/** How many tokens must be read before the next one can be drawn or read again. */
export function leftToRead(answering: Answering): number {
  const { request, sequence, isIdle } = answering
  if (isIdle) return 0
  if (isDecoding(answering)) return 1
  return Math.max(request.prompt.length - (sequence?.tokens.length ?? 0), 0)
}

export function nextToRead(answering: Answering, count: number): Uint32Array {
  const { request, sequence, drawn, again } = answering
  const read = sequence?.tokens.length ?? 0
  if (drawn === undefined || read < request.prompt.length) {
    return Uint32Array.from(request.prompt.slice(read, read + count))
  }
  return Uint32Array.of(again[read - request.prompt.length] ?? drawn)
}

/** After a batch: clears `drawn` once that token has been read. */
export function noteRead(answering: Answering): void {
  const { request, sequence, again } = answering
  const read = sequence?.tokens.length ?? 0
  if (read > request.prompt.length + again.length) answering.drawn = undefined
}

/** Called before it loses its sequence, so that it can continue on another one as if nothing had happened. */
export function notePause(answering: Answering): void {
  const { request, sequence, again } = answering
  const own = sequence?.tokens.slice(request.prompt.length) ?? []
  if (own.length > again.length) answering.again = own
  // An answer that has begun comes before those that wait.
  answering.priority = Number.NEGATIVE_INFINITY
  if (request.isRead) return
  if (request.leader === answering) request.leader = undefined
  if (request.promptLogprobs !== undefined) request.promptLogprobs.length = 1
}
