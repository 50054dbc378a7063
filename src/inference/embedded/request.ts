import type { Generation, PromptLogprobs } from '../backend.ts'
import type { PositionLogits } from '../sampling/logits.ts'
import type { Drafting } from './drafts/drafting.ts'
import type { Sequence } from './sequences.ts'

/** A generation on its way. */
export interface Request {
  readonly id: number
  readonly generation: Generation
  readonly prompt: readonly number[]
  /** One for each prompt token whose logits have been read; undefined when the request does not want them. */
  readonly promptLogprobs: PromptLogprobs | undefined
  readonly priority: number
  readonly since: number
  /** How long it has waited for the first batch that reads of its prompt. */
  queuedMs: number | undefined
  /** Which of its answers reads the prompt for all; undefined when each reads it by itself, or until one begins. */
  leader: Answering | undefined
  /** Whether one reads the prompt for all. */
  readonly isShared: boolean
  /** The sequences it must have from the beginning: all of them for a beam search, else one for each answer that begins. */
  readonly together: number
  /** The prompt has been read. */
  isRead: boolean
  /** One of its answers has, or had, a sequence. */
  hasBegun: boolean
  readonly unfinished: Set<Answering>
}

/** Goes on with what was drawn. */
export type TakeUp = () => void | Promise<void>

/** One of the answers of a generation, or one of the beams of a search. */
export interface Answering {
  readonly request: Request
  readonly isBackground: boolean
  priority: number
  readonly tenant: string
  /** Where it runs; undefined while it waits. */
  sequence: Sequence | undefined
  /** How much of the prompt was remembered when it got its sequence. */
  cached: number
  /** What was drawn and has not been read yet. */
  drawn: number | undefined
  /** What it had read of its own tokens when it last lost its sequence: read again, token by token, before `drawn`. */
  again: readonly number[]
  /** Guesses how it goes on; undefined where that is not wanted, and for beams. */
  drafting: Drafting | undefined
  /** A beam that nothing continues at the moment, and that may be needed again. */
  isIdle: boolean
  /** The batch that it was in last. */
  turn: number
  /** Goes on with at most so many tokens that come next whatever the model says, one after the other. That may be while they are read. */
  takeSure(most: number): TakeUp[]
  /** Asks what follows when everything so far is read. It may be asked while that is being read, and is told when it has been. */
  ask(logits: PositionLogits): Promise<TakeUp>
}

/** Whether its prompt has been read, so that it reads one token of its own after the other. */
export function isWriting({ request, sequence, drawn }: Answering): boolean {
  return drawn !== undefined && (sequence?.tokens.length ?? 0) >= request.prompt.length
}

/** It reads again what it had written before it lost its sequence. */
export function isReadingAgain({ request, sequence, again }: Answering): boolean {
  return (sequence?.tokens.length ?? 0) - request.prompt.length < again.length
}

/** How many tokens have to be read before the next one can be drawn, or before another is read again. */
export function leftToRead(answering: Answering): number {
  const { request, sequence, isIdle } = answering
  if (isIdle) return 0
  if (isWriting(answering)) return 1
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

/** After a batch: what was drawn is over once it has been read itself. */
export function noteRead(answering: Answering): void {
  const { request, sequence, again } = answering
  const read = sequence?.tokens.length ?? 0
  if (read > request.prompt.length + again.length) answering.drawn = undefined
}

/** Before it loses its sequence, so that it can go on in another as if nothing had happened. */
export function notePause(answering: Answering): void {
  const { request, sequence, again } = answering
  const own = sequence?.tokens.slice(request.prompt.length) ?? []
  if (own.length > again.length) answering.again = own
  // What it has begun comes before what waits.
  answering.priority = Number.NEGATIVE_INFINITY
  if (request.isRead) return
  if (request.leader === answering) request.leader = undefined
  if (request.promptLogprobs !== undefined) request.promptLogprobs.length = 1
}
