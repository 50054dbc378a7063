import type { ReasoningFormat, ThoughtStart } from './reasoning-format.ts'

/** Whether a prompt leaves a thought open. White space around the marks is the template's taste. */
export function thoughtStartOf(reasoning: ReasoningFormat | undefined, prompt: string): ThoughtStart {
  if (reasoning === undefined) return 'over'
  const end = prompt.trimEnd()
  if (end.endsWith(reasoning.open.trim())) return 'open'
  return end.endsWith(reasoning.close.trim()) ? 'over' : 'optional'
}
