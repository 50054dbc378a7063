/** The states that an annotator can give an item. */
export const annotationStates = ['in_progress', 'completed', 'skipped'] as const
export type AnnotationState = (typeof annotationStates)[number]

/** The same, plus the state before them. */
export const itemStates = ['unstarted', ...annotationStates] as const
export type ItemState = (typeof itemStates)[number]

/** The states that may follow each state. A state may follow itself, so a retry is safe. */
const followers: Record<ItemState, readonly AnnotationState[]> = {
  unstarted: annotationStates,
  in_progress: annotationStates,
  completed: ['completed'],
  skipped: ['skipped'],
}

export function statesAfter(state: ItemState): readonly AnnotationState[] {
  return followers[state]
}

export function isFinished(state: ItemState): boolean {
  return state === 'completed' || state === 'skipped'
}
