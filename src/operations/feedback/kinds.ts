import { preferenceType } from '../../domain/queues/pairs.ts'

/** The kind of a feedback, determined by its type. */
export type Kind = 'reaction' | 'note' | 'annotation' | 'runnable' | 'agent monitor' | 'preference' | 'free'

/** The kinds whose type ends in a name: of the annotation spec, or of what was run. */
export const prefixes = { annotation: 'wandb.annotation', runnable: 'wandb.runnable' } as const

export function kindOf(type: string): Kind {
  if (type === 'wandb.reaction.1') return 'reaction'
  if (type === 'wandb.note.1') return 'note'
  if (type === preferenceType) return 'preference'
  if (type === 'wandb.agent_monitor') return 'agent monitor'
  if (type.startsWith(prefixes.annotation)) return 'annotation'
  return type.startsWith(prefixes.runnable) ? 'runnable' : 'free'
}

/** The path of a field in a message: `payload.note`, or `batch.3.payload.note`. */
export type FieldName = (field: string) => string

export const atRoot: FieldName = (field) => field

export function atItem(index: number): FieldName {
  return (field) => `batch.${index}.${field}`
}
