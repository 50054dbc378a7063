import type { NativeContext, NativeModel } from '../native.ts'
import type { EngineOptions } from '../protocol.ts'

/** A second row costs these models next to nothing. */
const tinyParameters = 30_000_000

export interface HowToDraft {
  /**
   * Who writes reads two tokens at once, always: what was drawn, and one that may come next. llama.cpp computes plain attention
   * of one row differently from that of several, and that of two exactly like that of more. So an answer is the same however
   * much of it was guessed, and however it is read later.
   */
  isPaired: boolean
  areWanted: boolean
}

/** How answers of a model are guessed ahead. */
export function howToDraft(
  { parameters }: Pick<NativeModel, 'parameters'>,
  { hasPlainAttention }: Pick<NativeContext, 'hasPlainAttention'>,
  { gpu, drafts }: Pick<EngineOptions, 'gpu' | 'drafts'>,
): HowToDraft {
  const isPaired = !gpu && hasPlainAttention && parameters < tinyParameters
  // Where answers are promised to be the same in their last digits, nothing is guessed that could change these.
  return { isPaired, areWanted: drafts && (isPaired || gpu !== false || !hasPlainAttention) }
}
