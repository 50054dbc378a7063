import type { NativeContext, NativeModel } from '../native.ts'
import type { EngineOptions } from '../protocol.ts'

/** A second row costs almost nothing in such models. */
const tinyParameters = 30_000_000

export interface DraftSettings {
  /**
   * Each writer always reads two tokens: the one that was drawn, and one that may come next. llama.cpp computes plain
   * attention of one row differently from that of several, and that of two exactly like that of more. So an answer is
   * the same however much of it was guessed, and however it is read later.
   */
  isPaired: boolean
  isEnabled: boolean
}

/** Whether and how answers of a model are drafted. */
export function draftSettings(
  { parameters }: Pick<NativeModel, 'parameters'>,
  { hasPlainAttention }: Pick<NativeContext, 'hasPlainAttention'>,
  { gpu, drafts }: Pick<EngineOptions, 'gpu' | 'drafts'>,
): DraftSettings {
  const isPaired = !gpu && hasPlainAttention && parameters < tinyParameters
  // Where answers are promised to be equal to the last digit, nothing is guessed that could change it.
  return { isPaired, isEnabled: drafts && (isPaired || gpu !== false || !hasPlainAttention) }
}
