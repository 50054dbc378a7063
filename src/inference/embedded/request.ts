import type { Generation, PromptLogprobs } from '../backend.ts'
import type { PositionLogits } from '../sampling/logits.ts'
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

/** One of the answers of a generation, or one of the beams of a search. */
export interface Answering {
  readonly request: Request
  readonly priority: number
  readonly tenant: string
  /** Where it runs; undefined while it waits. */
  sequence: Sequence | undefined
  /** How much of the prompt was remembered when it got its sequence. */
  cached: number
  /** What was drawn and has not been read yet. */
  drawn: number | undefined
  /** A beam that nothing continues at the moment, and that may be needed again. */
  isIdle: boolean
  /** The batch that it was in last. */
  turn: number
  /** Everything so far has been read: what follows? */
  proceed(logits: PositionLogits): Promise<void>
}

/** How many tokens have to be read before the next one can be drawn. */
export function leftToRead({ request, sequence, drawn, isIdle }: Answering): number {
  if (isIdle) return 0
  const read = sequence?.tokens.length ?? 0
  return drawn === undefined ? Math.max(request.prompt.length - read, 0) : 1
}

export function nextToRead(answering: Answering, count: number): Uint32Array {
  const { request, sequence, drawn } = answering
  if (drawn !== undefined) return Uint32Array.of(drawn)
  const read = sequence?.tokens.length ?? 0
  return Uint32Array.from(request.prompt.slice(read, read + count))
}
