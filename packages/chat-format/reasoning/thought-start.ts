import type { ReasoningFormat, ThoughtStart } from './reasoning-format.ts'

/**
 * Whether a rendered prompt leaves the thought open, has ended it, or leaves it to the model. White space around the
 * marks is the template's.
 */
export function thoughtStartOf(
  reasoning: Pick<ReasoningFormat, 'open' | 'close'> | undefined,
  prompt: string,
): ThoughtStart {
  if (reasoning === undefined) return 'over'
  const text = prompt.trimEnd()
  if (text.endsWith(reasoning.open)) return 'open'
  if (text.endsWith(reasoning.close)) return 'over'
  return 'optional'
}
