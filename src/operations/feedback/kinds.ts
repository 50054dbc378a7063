/** What a feedback is, by the name of its type. */
export type Kind = 'reaction' | 'note' | 'annotation' | 'runnable' | 'agent monitor' | 'free'

/** The two kinds whose type ends in a name: of the annotation spec, or of what was run. */
export const prefixes = { annotation: 'wandb.annotation', runnable: 'wandb.runnable' } as const

export function kindOf(type: string): Kind {
  if (type === 'wandb.reaction.1') return 'reaction'
  if (type === 'wandb.note.1') return 'note'
  if (type === 'wandb.agent_monitor') return 'agent monitor'
  if (type.startsWith(prefixes.annotation)) return 'annotation'
  return type.startsWith(prefixes.runnable) ? 'runnable' : 'free'
}
